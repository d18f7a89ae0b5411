// SPDX-License-Identifier: MIT
#include "launch/model/script/script_module.hpp"

#include <fstream>
#include <limits>
#include <map>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/import.h>

#include "base/errors.hpp"
#include "gan/blocks/build_networks.hpp"
#include "gan/random_tensors.hpp"
#include "job/file/parse.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/gan/statistic_sums.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::launch {
namespace {

constexpr std::int64_t kExamples = 5;
constexpr std::int64_t kImages = 17'000;  // shown images: growing networks are within a fade

/// Makes networks with weights and running statistics that change every layer's values.
PerNetwork<gan::Network> networks_of(const JobSpec& job) {
  PerNetwork<gan::Network> networks = gan::build_networks(job);
  const at::NoGradGuard no_grad;
  for (gan::Network* network : {&networks[kGenerator], &networks[kDiscriminator]}) {
    network->initialise(3);
    network->grow_to(job.growth_level(kImages));
    for (const auto& named : network->parameters()) {
      if (named.parameter->initial == Initial::kZero) {
        named.parameter->tensor.copy_(at::arange(named.parameter->tensor.numel(), at::kFloat)
                                          .sin()
                                          .mul(0.1)
                                          .reshape(named.parameter->tensor.sizes()));
      }
    }
    std::int64_t salt = 0;
    for (const auto& named : network->statistics()) {
      const at::Tensor values = at::arange(named.statistic->running.numel(), at::kFloat);
      named.statistic->running.copy_(values.add(static_cast<double>(++salt)).sin().abs().add(0.3));
    }
  }
  return networks;
}

class Exported {
 protected:
  /// Returns the module's outputs for the same inputs after writing and reading it.
  at::Tensor output_of(gan::Network& network, const ModelSpec& model, const at::Tensor& input,
                       const at::Tensor& labels) {
    const auto file = folder.path() / (network.name() + ".pt");
    save_script(script_of(network, model), file, {{"gangway.step", "7"}});
    torch::jit::Module loaded = torch::jit::load(file.string());
    std::vector<c10::IValue> inputs{input};
    if (model.classes > 0) {
      inputs.emplace_back(labels);
    }
    return loaded.forward(inputs).toTensor();
  }
  const gangway::testing::ScratchFolder folder;
};

class ScriptModule : public Exported, public ::testing::TestWithParam<const char*> {};
class Translators : public Exported, public ::testing::TestWithParam<const char*> {};

TEST_P(ScriptModule, ComputesWhatTheNetworkDoes) {
  const JobSpec job = parse_job(GetParam(), "test job");
  PerNetwork<gan::Network> networks = networks_of(job);
  const at::NoGradGuard no_grad;
  const at::Tensor noise = at::arange(kExamples * job.model.latent, at::kFloat)
                               .sin_()
                               .reshape({kExamples, job.model.latent});
  const at::Tensor labels = at::arange(kExamples).remainder(std::max(1, job.model.classes));
  const gan::ForwardContext context{.mode = gan::Mode::kEvaluation};
  gan::NamedTensors in{{"noise", noise}, {"labels", labels}};
  const at::Tensor examples = networks[kGenerator].forward(in, context);
  const at::Tensor scripted = output_of(networks[kGenerator], job.model, noise, labels);
  EXPECT_EQ(scripted.sizes(), examples.sizes());
  EXPECT_LE((scripted - examples).abs().max().item<float>(), 1e-6F);
  gan::NamedTensors judged{{"image", examples}, {"labels", labels}};
  const at::Tensor logits = networks[kDiscriminator].forward(judged, context);
  const at::Tensor scripted_logits =
      output_of(networks[kDiscriminator], job.model, examples, labels);
  EXPECT_LE((scripted_logits - logits).abs().max().item<float>(), 1e-5F);
}

INSTANTIATE_TEST_SUITE_P(
    Families, ScriptModule,
    ::testing::Values("model: {family: dcgan, width: 8, latent: 16}\n",
                      "model: {family: dcgan, width: 8, latent: 16, classes: 10, channels: 3}\n"
                      "data: {source: 'images:x'}\n",
                      "model: {family: infogan, width: 8, latent: 16}\n",
                      "model: {family: infogan, width: 8, latent: 16, classes: 10}\n"
                      "training: {r1: {gamma: 1}}\n",
                      "model: {family: mlp, width: 8, latent: 2, activation: softplus}\n"
                      "data: {source: 'toy:ring8'}\n",
                      "model: {family: gat, width: 64, latent: 8, patch: 8, blocks: 3}\n",
                      "model: {family: gat, width: 12, latent: 8, blocks: 1, resolution: 64, "
                      "classes: 10, channels: 3}\ndata: {source: 'images:x'}\n",
                      "model: {family: biggan, width: 4, latent: 8, attention: 16}\n",
                      "model: {family: biggan, width: 2, latent: 13, resolution: 64, attention: "
                      "16, classes: 10, channels: 3}\ndata: {source: 'images:x'}\n",
                      "model: {family: stylegan2, width: 4, latent: 8, mapping_layers: 2}\n",
                      "model: {family: stylegan2, width: 2, latent: 8, resolution: 64, "
                      "classes: 10, channels: 3}\ndata: {source: 'images:x'}\n",
                      "model: {family: progressive, width: 8, latent: 8}\n",
                      "model: {family: progressive, width: 8, latent: 8, classes: 10}\n"
                      "training: {growth: {from: 32}}\n",
                      "model: {family: r3gan, width: 16, latent: 8, blocks: 1}\n",
                      "model: {family: r3gan, width: 8, latent: 8, blocks: 1, resolution: 64, "
                      "classes: 10, channels: 3}\ndata: {source: 'images:x'}\n"));

/// Relative to a tensor's largest value. Sums of 1,536 and more terms have another order, which
/// depends on the CPU. The worst of the tested kinds of CPUs had 8.8 rounding errors of float.
constexpr float kOfLargest = 16.0F * std::numeric_limits<float>::epsilon();

class InTraining : public Exported, public ::testing::TestWithParam<const char*> {
 protected:
  /// Expects the gradients of `network` from the exported module, and equal BatchNorm statistics.
  void expect_alike(gan::Network& network, const ModelSpec& model, const at::Tensor& input) {
    network.initialise(3);
    torch::jit::Module module = script_of(network, model);
    module.train();
    gan::StatisticSums seen;
    const at::Tensor labels = at::arange(input.size(0)).remainder(std::max(1, model.classes));
    const at::Tensor made = network.forward(
        {{network.block(0).ports().inputs.front(), input}, {"labels", labels}}, {.sink = &seen});
    std::vector<c10::IValue> inputs{input};
    if (model.classes > 0) {
      inputs.emplace_back(labels);
    }
    const at::Tensor weights = at::arange(made.numel(), at::kFloat).cos_().reshape(made.sizes());
    torch::autograd::backward({(made * weights).sum()});
    torch::autograd::backward({(module.forward(inputs).toTensor() * weights).sum()});
    std::map<std::string, at::Tensor> exported;
    for (const auto& named : module.named_parameters()) {
      exported[named.name] = named.value.grad();
    }
    for (const auto& named : module.named_buffers()) {
      exported[named.name] = named.value;
    }
    const auto find = [&](std::string name) {
      name.erase(0, name.find('/') + 1);
      name[name.find('/')] = '.';
      return exported.at(name);
    };
    for (const auto& named : network.parameters()) {
      const at::Tensor gradient = named.parameter->tensor.grad();
      EXPECT_LE((find(named.name) - gradient).abs().max().item<float>(),
                kOfLargest * gradient.abs().max().item<float>())
          << named.name;
    }
    for (const auto& named : network.statistics()) {
      const at::Tensor moved = at::lerp(named.statistic->running, seen.of(*named.statistic), 0.1);
      EXPECT_TRUE(find(named.name).allclose(moved, 1e-5, 1e-7)) << named.name;
    }
  }
};

TEST_P(InTraining, HasTheGradientsOfTheNetwork) {
  const JobSpec job = parse_job(GetParam(), "test job");
  PerNetwork<gan::Network> networks = gan::build_networks(job);
  expect_alike(networks[kGenerator], job.model,
               gan::keyed_normal({.seed = 2}, {kExamples, job.model.latent}, at::kCPU));
  expect_alike(networks[kDiscriminator], job.model,
               gan::keyed_normal({.seed = 4}, {kExamples, 1, 32, 32}, at::kCPU));
}

INSTANTIATE_TEST_SUITE_P(
    Families, InTraining,
    ::testing::Values("model: {family: dcgan, width: 8, latent: 16}\n",
                      "model: {family: dcgan, width: 8, latent: 16, classes: 10}\n"
                      "training: {r1: {gamma: 1}}\n",
                      "model: {family: r3gan, width: 8, latent: 8, blocks: 1}\n"));

TEST_P(Translators, ComputeWhatTheNetworksDo) {
  const JobSpec job = parse_job(
      fmt::format("model: {{width: 4, resolution: 64, family: {}}}\n"
                  "training: {{recipe: cyclegan}}\ndata: {{source: 'classes:fashion-mnist:5,7'}}\n",
                  GetParam()),
      "test job");
  PerNetwork<gan::Network> networks = networks_of(job);
  const at::NoGradGuard no_grad;
  const at::Tensor pictures = at::arange(2 * 64 * 64, at::kFloat).sin_().reshape({2, 1, 64, 64});
  for (const char* name : {"generator_ab", "discriminator_b"}) {
    gan::Network& network = networks[job.id_of(name)];
    network.initialise(3);
    const at::Tensor expected =
        network.forward({{"image", pictures}}, {.mode = gan::Mode::kEvaluation});
    const at::Tensor scripted = output_of(network, job.model, pictures, {});
    EXPECT_EQ(scripted.sizes(), expected.sizes());
    EXPECT_LE((scripted - expected).abs().max().item<float>(), 1e-5F) << name;
  }
}
INSTANTIATE_TEST_SUITE_P(Families, Translators, ::testing::Values("unet", "cyclegan"));

TEST(SaveScript, OverwritesNothingAndLeavesNoHalfFile) {
  const gangway::testing::ScratchFolder folder;
  const JobSpec job =
      parse_job("model: {family: mlp, width: 8, latent: 2}\ndata: {source: 'toy:ring8'}\n", "job");
  PerNetwork<gan::Network> networks = networks_of(job);
  folder.write("taken.pt", "mine");
  EXPECT_THROW(
      save_script(script_of(networks[kGenerator], job.model), folder.path() / "taken.pt", {}),
      EnvironmentError);
  EXPECT_EQ(folder.read("taken.pt"), "mine");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  EXPECT_THROW(
      save_script(script_of(networks[kGenerator], job.model), folder.path() / "no" / "a.pt", {}),
      EnvironmentError);
}

}  // namespace
}  // namespace gangway::launch
