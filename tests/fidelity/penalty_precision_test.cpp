// SPDX-License-Identifier: MIT
// The four sweeps of a penalty against one double backward through the whole network, in float64:
// what is left is rounding of 1e-16, so no mistake of the order of float32's noise can hide.
#include <gtest/gtest.h>

#include "gan/blocks/build_networks.hpp"
#include "gan/losses/penalty.hpp"
#include "gan/random_tensors.hpp"
#include "job/families/families.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/fidelity/plain_reference.hpp"
#include "tests/fidelity/small_jobs.hpp"
#include "tests/gan/whole_network_penalty.hpp"

namespace gangway::fidelity {
namespace {

constexpr double kExact = 1e-12;

gan::Network discriminator_in_double(const JobSpec& job) {
  gan::Network network = std::move(gan::build_networks(job)[kDiscriminator]);
  network.initialise(job.training.seed);
  for (const auto& named : network.parameters()) {
    at::Tensor value =
        named.parameter->tensor.detach().to(at::kDouble).mul(3.0);  // away from the flat start
    if (value.dim() == 4 && job.numerics.memory_format == MemoryFormat::kChannelsLast) {
      value = value.contiguous(at::MemoryFormat::ChannelsLast);
    }
    named.parameter->tensor.set_data(value);
  }
  return network;
}

/// By name; a parameter without influence has none.
NamedValues take_gradients(gan::Network& network) {
  NamedValues gradients;
  for (const auto& named : network.parameters()) {
    at::Tensor& gradient = named.parameter->tensor.mutable_grad();
    if (gradient.defined()) {
      gradients[named.name] = gradient;
    }
    gradient = at::Tensor();
  }
  return gradients;
}

void expect_sweeps_equal_whole_network(const JobSpec& job, gan::PenaltyKind kind) {
  gan::Network network = discriminator_in_double(job);
  std::vector<std::int64_t> shape = example_shape(job.model);
  shape.insert(shape.begin(), 4);
  const at::Tensor image = gan::keyed_normal({.seed = 5}, shape, at::kCPU).to(at::kDouble);
  const gan::NamedTensors in{{"image", image}};
  const gan::ForwardContext context{.key = {.seed = 9}};

  const at::Tensor penalty = gan::whole_network_penalty(network, kind, 3.0, in, context);
  torch::autograd::backward({penalty}, {});
  const NamedValues whole = take_gradients(network);

  gan::BlockwisePenalty sweeps(network, kind, 3.0);
  sweeps.forward(in, context);
  EXPECT_NEAR(sweeps.backward().item<double>(), penalty.item<double>(),
              kExact * penalty.item<double>());
  const NamedValues blockwise = take_gradients(network);

  for (const auto& [name, expected] : whole) {
    ASSERT_TRUE(blockwise.contains(name)) << name;
    EXPECT_LE(relative_error(blockwise.at(name), expected), kExact) << name;
  }
  for (const auto& [name, gradient] : blockwise) {
    EXPECT_TRUE(whole.contains(name) || gradient.abs().max().item<double>() == 0.0) << name;
  }
}

TEST(PenaltyPrecision, OfEveryDiscriminatorInFloat64) {
  for (const gan::PenaltyKind kind : {gan::PenaltyKind::kR1, gan::PenaltyKind::kGradientPenalty}) {
    for (const Activation activation : {Activation::kLeakyRelu, Activation::kSoftplus}) {
      for (const Normalization normalization : {Normalization::kNone, Normalization::kBatch}) {
        for (const MemoryFormat format : {MemoryFormat::kContiguous, MemoryFormat::kChannelsLast}) {
          for (JobSpec job : {small_dcgan(""), small_mlp()}) {
            if (job.model.family->makes_points && normalization == Normalization::kBatch) {
              continue;  // a bias before BatchNorm has no gradient but rounding, in either way
            }
            job.model.activation = activation;
            job.model.normalization = normalization;
            job.model.dropout = 0.25;
            job.numerics.memory_format = format;
            expect_sweeps_equal_whole_network(job, kind);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace gangway::fidelity
