// SPDX-License-Identifier: MIT
// Compares networks that compute in bf16 and fp16 under float32 weights with float64 and float32.
#include "gan/precision.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "gan/blocks/build_networks.hpp"
#include "gan/losses/penalty.hpp"
#include "gan/random_tensors.hpp"
#include "job/families/families.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/gan/statistic_sums.hpp"
#include "tests/named_rows.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::gan {
namespace {

using Gradients = std::map<std::string, at::Tensor>;  // in float64

constexpr std::int64_t kExamples = 16;
constexpr double kScale = 128.0;  // of losses: without it a generator's fp16 gradients vanish

PerNetwork<Network> made(const JobSpec& job, at::ScalarType type = at::kFloat) {
  PerNetwork<Network> networks = build_networks(job);
  for (Network& network : networks) {
    network.initialise(3);
    for (const auto& named : network.parameters()) {
      const at::Tensor value = named.parameter->tensor.detach().to(type);
      named.parameter->tensor.set_data(
          value.dim() == 4 ? value.contiguous(at::MemoryFormat::ChannelsLast) : value);
    }
  }
  return networks;
}

NamedTensors generator_input(const JobSpec& job, at::ScalarType type = at::kFloat) {
  return {{"noise", keyed_normal({.seed = 2}, {kExamples, job.model.inputs()}, at::kCPU).to(type)},
          {"labels", at::arange(kExamples, at::kLong).remainder(10)}};
}

at::Tensor logits_of(PerNetwork<Network>& networks, const JobSpec& job,
                     const ForwardContext& context, at::ScalarType type = at::kFloat) {
  const NamedTensors in = generator_input(job, type);
  const at::Tensor image = networks[kGenerator].forward(in, context);
  EXPECT_EQ(image.scalar_type(), type);
  return networks[kDiscriminator].forward({{"image", image}, {"labels", in.at("labels")}}, context);
}

/// Returns the gradients of the non-saturating loss by the weights of both networks.
Gradients gradients_of(const JobSpec& job, Precision precision, at::ScalarType type = at::kFloat) {
  PerNetwork<Network> networks = made(job, type);
  const ForwardContext context{.key = {.seed = 5}, .precision = precision};
  const at::Tensor logits = logits_of(networks, job, context, type);
  EXPECT_EQ(logits.scalar_type(), type);
  torch::autograd::backward({at::softplus(-logits).mean() * kScale}, {});
  Gradients gradients;
  for (Network& network : networks) {
    for (const auto& named : network.parameters()) {
      EXPECT_EQ(named.parameter->tensor.scalar_type(), type) << named.name;
      const at::Tensor& gradient = named.parameter->tensor.grad();
      if (gradient.defined()) {
        EXPECT_EQ(gradient.scalar_type(), type) << named.name;
        gradients[named.name] = gradient.to(at::kDouble) / kScale;
      }
    }
  }
  return gradients;
}

double relative_distance(const at::Tensor& value, const at::Tensor& reference) {
  const at::Tensor wide = reference.to(at::kDouble);
  return ((value.to(at::kDouble) - wide).norm() / wide.norm().clamp_min(1e-30)).item<double>();
}

/// Returns the largest relative distance of tensors whose name begins with `network`.
double worst(const Gradients& found, const Gradients& reference, const std::string& network) {
  double largest = 0.0;
  for (const auto& [name, expected] : reference) {
    if (name.starts_with(network)) {
      largest = std::max(largest, relative_distance(found.at(name), expected));
    }
  }
  return largest;
}

/// The discriminator is smooth: at a kink a rounded sum would change a derivative a lot. The
/// generator's ReLU has a kink.
std::vector<JobSpec> smooth_jobs() {
  JobSpec dcgan;
  dcgan.model.width = 16;
  dcgan.model.latent = 16;
  JobSpec mlp;
  mlp.model.family = family_named("mlp");
  mlp.model.width = 96;
  mlp.model.latent = 4;
  std::vector<JobSpec> jobs{dcgan, mlp};
  for (JobSpec& job : jobs) {
    job.model.activation = Activation::kSoftplus;
    job.model.normalization = Normalization::kNone;
  }
  return jobs;
}

/// One network of each kind that is not a plain list of layers.
std::vector<JobSpec> odd_jobs() {
  std::vector<JobSpec> jobs(6);
  jobs[0].model = {
      .family = family_named("r3gan"), .width = 16, .blocks = 1, .latent = 8, .classes = 10};
  jobs[1].model = {.family = family_named("gat"),
                   .width = 16,
                   .blocks = 2,
                   .patch = 8,
                   .latent = 8,
                   .classes = 10};
  jobs[2].model = {
      .family = family_named("biggan"), .width = 4, .attention = 16, .latent = 9, .classes = 10};
  jobs[3].model = {.family = family_named("stylegan2"),
                   .width = 4,
                   .latent = 8,
                   .classes = 10,
                   .mapping_layers = 2,
                   .style_mixing = 0.5};
  jobs[4].model = {.family = family_named("progressive"), .width = 8, .latent = 8, .classes = 10};
  jobs[5].model = {.width = 16, .latent = 16, .classes = 10};
  return jobs;
}

TEST(ComputesInFewerBits, WithGradientsNearThoseInFloat64) {
  struct Bound {
    Precision precision;
    double discriminator;
    double generator;
  };
  // bf16 rounds to 2^-9 of a number, fp16 to 2^-12. The errors of PyTorch's layers were 0.008 and
  // 0.09, and 0.001 and 0.03.
  for (const JobSpec& job : smooth_jobs()) {
    const Gradients exact = gradients_of(job, Precision::kFp32, at::kDouble);
    for (const Bound& bound : {Bound{Precision::kBf16, std::ldexp(1.0, -5), std::ldexp(1.0, -2)},
                               Bound{Precision::kFp16, std::ldexp(1.0, -8), std::ldexp(1.0, -4)}}) {
      const Gradients found = gradients_of(job, bound.precision);
      ASSERT_EQ(found.size(), exact.size());
      EXPECT_LE(worst(found, exact, "discriminator"), bound.discriminator);
      EXPECT_LE(worst(found, exact, "generator"), bound.generator);
      EXPECT_GT(worst(found, exact, "discriminator"), 1e-5);  // it did round
    }
  }
}

TEST(ComputesInFewerBits, TheSameBitsEachTime) {
  for (const Precision precision : {Precision::kBf16, Precision::kFp16}) {
    const Gradients first = gradients_of(smooth_jobs().front(), precision);
    const Gradients second = gradients_of(smooth_jobs().front(), precision);
    for (const auto& [name, gradient] : first) {
      EXPECT_TRUE(at::equal(gradient, second.at(name))) << name;
    }
  }
}

TEST(ComputesInFewerBits, InEveryKindOfNetwork) {
  for (const JobSpec& job : odd_jobs()) {
    const Gradients whole = gradients_of(job, Precision::kFp32);
    PerNetwork<Network> networks = made(job);
    const at::Tensor expected =
        networks[kGenerator].forward(generator_input(job), {.key = {.seed = 5}});
    for (const Precision precision : {Precision::kBf16, Precision::kFp16}) {
      SCOPED_TRACE(::testing::Message()
                   << job.model.family->name << ", " << static_cast<int>(precision));
      const Gradients found = gradients_of(job, precision);
      EXPECT_EQ(found.size(), whole.size());
      for (const auto& [name, gradient] : found) {
        EXPECT_TRUE(gradient.isfinite().all().item<bool>()) << name;
      }
      const at::Tensor image = networks[kGenerator].forward(
          generator_input(job), {.key = {.seed = 5}, .precision = precision});
      EXPECT_LE(relative_distance(image, expected), 0.125);
    }
  }
}

TEST(ComputesInFewerBits, WithStatisticsInFloat32) {
  for (const JobSpec& job : odd_jobs()) {
    PerNetwork<Network> networks = made(job);
    for (const Precision precision : {Precision::kBf16, Precision::kFp16}) {
      StatisticSums expected;
      StatisticSums found;
      (void)logits_of(networks, job, {.sink = &expected, .key = {.seed = 5}});
      (void)logits_of(networks, job, {.sink = &found, .key = {.seed = 5}, .precision = precision});
      for (Network& network : networks) {
        for (const auto& named : network.statistics()) {
          const at::Tensor value = found.of(*named.statistic);
          EXPECT_EQ(value.scalar_type(), at::kFloat) << named.name;
          if (named.statistic->momentum == 1.0) {  // a spectral norm's direction
            EXPECT_TRUE(at::equal(value, expected.of(*named.statistic))) << named.name;
          } else {
            EXPECT_LE((value - expected.of(*named.statistic)).norm().item<double>(),
                      0.125 * expected.of(*named.statistic).norm().item<double>() + 1e-3)
                << named.name;
          }
        }
      }
    }
  }
}

TEST(ComputesInFewerBits, StatisticsThatNobodyWantsToo) {
  const JobSpec job = odd_jobs()[2];  // its conditional normalizations have no weights
  PerNetwork<Network> networks = made(job);
  StatisticSums seen;
  for (const Precision precision : {Precision::kBf16, Precision::kFp16}) {
    const at::Tensor with =
        logits_of(networks, job, {.sink = &seen, .key = {.seed = 5}, .precision = precision});
    const at::Tensor without =
        logits_of(networks, job, {.key = {.seed = 5}, .precision = precision});
    EXPECT_TRUE(at::equal(with, without));
  }
}

/// Returns R1 and its gradients by the discriminator's weights.
Gradients penalised(const JobSpec& job, Precision precision, at::ScalarType type = at::kFloat) {
  PerNetwork<Network> networks = made(job, type);
  Network& discriminator = networks[kDiscriminator];
  std::vector<std::int64_t> shape = example_shape(job.model);
  shape.insert(shape.begin(), kExamples);
  BlockwisePenalty sweeps(discriminator, PenaltyKind::kR1, 3.0);
  sweeps.forward({{"image", keyed_normal({.seed = 6}, shape, at::kCPU).to(type)},
                  {"labels", at::arange(kExamples, at::kLong).remainder(10)}},
                 {.key = {.seed = 5}, .precision = precision});
  Gradients found{{"penalty", sweeps.backward()}};
  EXPECT_EQ(found.at("penalty").scalar_type(), type);
  for (const auto& named : discriminator.parameters()) {
    if (const at::Tensor& gradient = named.parameter->tensor.grad(); gradient.defined()) {
      EXPECT_EQ(gradient.scalar_type(), type) << named.name;
      found[named.name] = gradient.clone();
    }
  }
  return found;
}

TEST(ComputesInFewerBits, PenaltiesNearThoseInFloat64) {
  for (const JobSpec& job : smooth_jobs()) {
    const Gradients exact = penalised(job, Precision::kFp32, at::kDouble);
    const Gradients found = penalised(job, Precision::kBf16);
    EXPECT_LE(worst(found, exact, "penalty"), std::ldexp(1.0, -7));
    EXPECT_LE(worst(found, exact, "discriminator"), std::ldexp(1.0, -4));
    EXPECT_GT(worst(found, exact, "discriminator"), 1e-4);  // it did round
    EXPECT_LE(worst(penalised(job, Precision::kFp32), exact, "discriminator"), 1e-5);
  }
}

TEST(ComputesInFewerBits, PenaltiesInEveryKindOfNetworkWithTheSameBitsEachTime) {
  for (const JobSpec& job : odd_jobs()) {
    SCOPED_TRACE(job.model.family->name);
    const Gradients whole = penalised(job, Precision::kFp32);
    const Gradients found = penalised(job, Precision::kBf16);
    const Gradients again = penalised(job, Precision::kBf16);
    EXPECT_EQ(found.size(), whole.size());
    for (const auto& [name, gradient] : found) {
      EXPECT_TRUE(gradient.isfinite().all().item<bool>()) << name;
      EXPECT_TRUE(at::equal(gradient, again.at(name))) << name;
    }
    EXPECT_LE(worst(found, whole, "penalty"), 0.125);
  }
}

TEST(ComputesInFewerBits, NoPenaltyInTf32OnACpu) {
  const JobSpec job = smooth_jobs().front();
  const Gradients expected = penalised(job, Precision::kFp32);
  for (const auto& [name, value] : penalised(job, Precision::kTf32)) {
    EXPECT_TRUE(at::equal(value, expected.at(name))) << name;
  }
}

/// Squares its input, and notes whether TF32 is allowed there and at each derivative.
class NotesTf32 final : public Block {
 public:
  NotesTf32(const std::string& input, const std::string& output, std::vector<bool>& seen)
      : Block({{input}, {output}}), input_(input), output_(output), seen_(seen) {}
  [[nodiscard]] NamedTensors forward(const NamedTensors& in, const ForwardContext&) override {
    note();
    const at::Tensor squares = in.at(input_).square();
    squares.register_hook([this](const at::Tensor& gradient) {
      note();
      const at::Tensor same = gradient.view_as(gradient);
      if (same.requires_grad()) {  // in sweep 2; sweep 3 is its derivative
        same.register_hook([this](const at::Tensor& second) {
          note();
          return second;
        });
      }
      return same;
    });
    return in.with(output_, squares);
  }

 private:
  void note() { seen_.push_back(at::globalContext().allowTF32CuBLAS()); }
  std::string input_;
  std::string output_;
  std::vector<bool>& seen_;
};

TEST(ComputesInFewerBits, AllFourSweepsOfAPenaltyInTf32AndNothingBehindThem) {
  for (const Precision precision : {Precision::kTf32, Precision::kFp32}) {
    std::vector<bool> seen;
    std::vector<std::unique_ptr<Block>> blocks;
    blocks.push_back(std::make_unique<NotesTf32>("image", "squares", seen));
    blocks.push_back(std::make_unique<NotesTf32>("squares", "features", seen));
    Network network("discriminator", std::move(blocks));
    BlockwisePenalty sweeps(network, PenaltyKind::kR1, 3.0);
    sweeps.forward({{"image", at::ones({2, 3})}}, {.precision = precision});
    EXPECT_FALSE(at::globalContext().allowTF32CuBLAS());
    (void)sweeps.backward();
    // Both blocks in sweeps 1 to 3; nothing depends on the last block's output in sweep 4.
    EXPECT_EQ(seen, std::vector<bool>(7, precision == Precision::kTf32));
    EXPECT_FALSE(at::globalContext().allowTF32CuBLAS());
  }
}

TEST(ComputesInFewerBits, APenaltysGradientsUnderAScaleAndItsValueWithout) {
  const auto penalised = [](double scale) {
    PerNetwork<Network> networks = made(smooth_jobs().front());
    const at::Tensor image = keyed_normal({.seed = 6}, {4, 1, 32, 32}, at::kCPU);
    BlockwisePenalty sweeps(networks[kDiscriminator], PenaltyKind::kR1, 3.0);
    sweeps.forward({{"image", image}}, {});
    const at::Tensor value = sweeps.backward({}, scale);
    return std::pair(value, networks[kDiscriminator].parameters()[0].parameter->tensor.grad());
  };
  const auto [value, gradient] = penalised(1.0);
  const auto [same, larger] = penalised(8.0);  // scaling by a power of two is exact
  EXPECT_TRUE(at::equal(same, value));
  EXPECT_TRUE(at::equal(larger, gradient * 8.0));
}

TEST(ComputesInFewerBits, NothingBehindTheNetwork) {
  const JobSpec job = smooth_jobs().front();
  PerNetwork<Network> networks = made(job);
  const at::ScalarType before = at::autocast::get_autocast_dtype(at::kCPU);
  (void)logits_of(networks, job, {.precision = Precision::kFp16});
  EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
  EXPECT_EQ(at::autocast::get_autocast_dtype(at::kCPU), before);
  EXPECT_TRUE(at::autocast::is_autocast_cache_enabled());
}

TEST(ComputesInFewerBits, NotWhatAsksForFloat32) {
  const at::Tensor x = at::ones({2, 2});
  const ComputePrecision scope(Precision::kBf16, at::kCPU);
  EXPECT_EQ(at::matmul(x, x).scalar_type(), at::kBFloat16);
  {
    const FullPrecision in_float32;
    EXPECT_EQ(at::matmul(x, x).scalar_type(), at::kFloat);
  }
  EXPECT_EQ(at::matmul(x, x).scalar_type(), at::kBFloat16);
}

TEST(ComputesInFewerBits, SeesNewWeightsAtOnce) {
  at::Tensor weight = at::ones({2, 2}).set_requires_grad(true);
  const at::Tensor x = at::ones({1, 2});
  const ComputePrecision scope(Precision::kBf16, at::kCPU);
  const at::Tensor before = at::linear(x, weight);
  {
    const at::NoGradGuard no_grad;
    weight.fill_(3.0);  // in place, as an update does
  }
  EXPECT_EQ(before[0][0].item<double>(), 2.0);
  EXPECT_EQ(at::linear(x, weight)[0][0].item<double>(), 6.0);
}

TEST(ComputesInFewerBits, RefusesAPrecisionThatNobodyHasSettled) {
  EXPECT_THROW(ComputePrecision(Precision::kAuto, at::kCPU), InvariantError);
}

TEST(ComputesInFewerBits, LowResolutionsOfStylegan2InFloat32WhereFp16IsWanted) {
  const JobSpec job = odd_jobs()[3];
  PerNetwork<Network> networks = made(job);
  const auto type_behind = [&](std::size_t last, Precision precision) {
    NamedTensors tensors = generator_input(job);
    for (std::size_t block = 0; block <= last; ++block) {
      tensors = networks[kGenerator].forward_block(block, tensors,
                                                   {.key = {.seed = 5}, .precision = precision});
    }
    return tensors.at("features").scalar_type();
  };
  EXPECT_EQ(type_behind(2, Precision::kFp16), at::kFloat);     // 4 pixels
  EXPECT_EQ(type_behind(4, Precision::kFp16), at::kHalf);      // 8
  EXPECT_EQ(type_behind(2, Precision::kBf16), at::kBFloat16);  // has float32's range
}

}  // namespace
}  // namespace gangway::gan
