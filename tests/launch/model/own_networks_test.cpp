// SPDX-License-Identifier: MIT
// The built-in networks, exported and given back as a user's: the same numbers.
#include <limits>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/import.h>

#include "gan/blocks/build_networks.hpp"
#include "gan/losses/penalty.hpp"
#include "gan/random_tensors.hpp"
#include "job/families/families.hpp"
#include "job/file/parse.hpp"
#include "launch/model/script/script_module.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::launch {
namespace {

constexpr std::int64_t kOwnExamples = 6;
// Of a tensor's largest value. Sums of 1,536 terms and more are made in another order, which is the
// CPU's: of kinds of CPUs that were tried the worst was 8.8 roundings of float.
constexpr float kTolerance = 16.0F * std::numeric_limits<float>::epsilon();

/// Remembers what was harvested, by the dotted name.
class KeptStatistics final : public gan::StatisticSink {
 public:
  void take(const gan::Statistic& statistic, const at::Tensor& value) override {
    values.push_back({statistic.name, value.clone()});
  }
  std::vector<std::pair<std::string, at::Tensor>> values;
};

class GivenBack : public ::testing::TestWithParam<const char*> {
 protected:
  GivenBack() : job_(parse_job(GetParam(), "test job")), networks_(gan::build_networks(job_)) {
    JobSpec own = job_;
    for (const NetworkId id : networks_.ids()) {
      networks_[id].initialise(3);
      const auto file = folder_.path() / (networks_[id].name() + ".pt");
      save_script(script_of(networks_[id], job_.model), file, {});
      own.networks[id].module.file = file.string();
    }
    own_ = gan::build_networks(own);
  }

  [[nodiscard]] gan::NamedTensors inputs(NetworkId id) const {
    std::vector<std::int64_t> shape = example_shape(job_.model);
    shape.insert(shape.begin(), kOwnExamples);
    gan::NamedTensors in =
        id == kGenerator
            ? gan::NamedTensors{{"noise",
                                 gan::keyed_normal({.seed = 2}, {kOwnExamples, job_.model.latent},
                                                   at::kCPU)}}
            : gan::NamedTensors{{"image", gan::keyed_normal({.seed = 4}, shape, at::kCPU)}};
    return job_.model.classes > 0
               ? in.with("labels", at::arange(kOwnExamples).remainder(job_.model.classes))
               : in;
  }
  /// What backward has left in both.
  void expect_equal_gradients(NetworkId id) {
    const auto built_in = networks_[id].parameters();
    const auto own = own_[id].parameters();
    ASSERT_EQ(own.size(), built_in.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      std::string name = built_in[i].name.substr(built_in[i].name.find('/') + 1);
      name[name.find('/')] = '.';
      EXPECT_EQ(own[i].name, networks_[id].name() + "/" + name);
      const at::Tensor& expected = built_in[i].parameter->tensor.grad();
      const at::Tensor& gradient = own[i].parameter->tensor.grad();
      ASSERT_EQ(gradient.defined(), expected.defined()) << name;
      if (expected.defined()) {
        EXPECT_LE((gradient - expected).abs().max().item<float>(),
                  kTolerance * expected.abs().max().item<float>())
            << name;
      }
    }
  }

  const gangway::testing::ScratchFolder folder_;
  JobSpec job_;
  PerNetwork<gan::Network> networks_;
  PerNetwork<gan::Network> own_;
};

TEST_P(GivenBack, HasTheGradientsAndStatisticsOfTheBuiltIn) {
  for (const NetworkId id : networks_.ids()) {
    const gan::NamedTensors in = inputs(id);
    KeptStatistics expected;
    KeptStatistics found;
    at::Tensor made = networks_[id].forward(in, {.sink = &expected});
    const at::Tensor weights = gan::keyed_normal({.seed = 9}, made.sizes(), at::kCPU);
    torch::autograd::backward({(made * weights).sum()}, {});
    made = own_[id].forward(in, {.sink = &found});
    torch::autograd::backward({(made * weights).sum()}, {});
    expect_equal_gradients(id);
    ASSERT_EQ(found.values.size(), expected.values.size());
    std::map<std::string, at::Tensor> own_values(found.values.begin(), found.values.end());
    std::size_t at = 0;
    for (const auto& named : networks_[id].statistics()) {
      std::string name = named.name.substr(named.name.find('/') + 1);
      name[name.find('/')] = '.';
      const at::Tensor running = named.statistic->running;
      const at::Tensor wanted = running + (expected.values[at++].second - running) * 0.1;
      EXPECT_TRUE(own_values.at(name).allclose(wanted, 1e-5, 1e-7)) << name;
    }
  }
}

TEST_P(GivenBack, HasThePenaltysGradientsOfTheBuiltIn) {
  for (gan::Network* network : {&networks_[kDiscriminator], &own_[kDiscriminator]}) {
    gan::BlockwisePenalty penalty(*network, gan::PenaltyKind::kR1, 2.0);
    penalty.forward(inputs(kDiscriminator), {});
    (void)penalty.backward();
  }
  expect_equal_gradients(kDiscriminator);
}

TEST_P(GivenBack, IsExportedUnderItsNames) {
  const auto file = folder_.path() / "again.pt";
  for (const auto& named : own_[kGenerator].parameters()) {
    const at::NoGradGuard no_grad;
    named.parameter->tensor.mul_(2.0);
  }
  const at::Tensor doubled =
      own_[kGenerator].parameters().front().parameter->tensor.detach().clone();
  save_script(script_of(own_[kGenerator], job_.model), file, {});
  const torch::jit::Module before = torch::jit::load((folder_.path() / "generator.pt").string());
  const torch::jit::Module after = torch::jit::load(file.string());
  std::vector<std::string> names;
  for (const auto& named : before.named_parameters()) {
    names.push_back(named.name);
  }
  std::size_t at = 0;
  for (const auto& named : after.named_parameters()) {
    ASSERT_LT(at, names.size());
    EXPECT_EQ(named.name, names[at++]);
    EXPECT_TRUE(named.value.requires_grad());
  }
  EXPECT_TRUE((*after.parameters().begin()).equal(doubled));
  EXPECT_FALSE(after.is_training());
}

INSTANTIATE_TEST_SUITE_P(
    BuiltIn, GivenBack,
    ::testing::Values("model: {family: dcgan, width: 8, latent: 16}\n",
                      "model: {family: dcgan, width: 8, latent: 16, classes: 10}\n"
                      "training: {r1: {gamma: 1}}\n",
                      "model: {family: r3gan, width: 8, latent: 8, blocks: 1}\n"));

}  // namespace
}  // namespace gangway::launch
