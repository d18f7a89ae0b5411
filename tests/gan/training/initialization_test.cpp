// SPDX-License-Identifier: MIT
#include "gan/initialization.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gan/blocks/build_networks.hpp"
#include "job/families/families.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/named_rows.hpp"

namespace gangway::gan {
namespace {

JobSpec beginning_as(const InitializationSpec& spec) {
  JobSpec job;
  for (NetworkSpec& network : job.networks) {
    network.initialization = spec;
  }
  return job;
}

/// Returns `job`'s networks, initialised by its seed.
PerNetwork<Network> initialised(const JobSpec& job) {
  PerNetwork<Network> networks = build_networks(job);
  for (Network& network : networks) {
    network.initialise(3);
  }
  return networks;
}

/// Expects normal numbers of mean 0 and deviation `expected`, to four deviations of the estimate.
void expect_deviation(const at::Tensor& weight, double expected, const std::string& name) {
  const auto count = static_cast<double>(weight.numel());
  EXPECT_NEAR(weight.mean().item<double>(), 0.0, 4.0 * expected / std::sqrt(count)) << name;
  EXPECT_NEAR(weight.std().item<double>(), expected, 4.0 * expected / std::sqrt(2.0 * count))
      << name;
}

/// fan_in and fan_out of torch.nn.init._calculate_fan_in_and_fan_out.
struct TorchFans {
  double in;
  double out;
};

TorchFans torch_fans(const at::Tensor& weight) {
  const auto field = static_cast<double>(weight[0][0].numel());
  return {static_cast<double>(weight.size(1)) * field, static_cast<double>(weight.size(0)) * field};
}

template <typename Deviation>
void expect_deviations(const InitializationSpec& spec, const Deviation& deviation) {
  PerNetwork<Network> networks = initialised(beginning_as(spec));
  int maps = 0;
  for (Network& network : networks) {
    for (const Network::NamedParameter& named : network.parameters()) {
      const at::Tensor weight = named.parameter->tensor.detach();
      if (weight.dim() >= 2) {
        ++maps;
        expect_deviation(weight, deviation(torch_fans(weight)), named.name);
      }
    }
  }
  EXPECT_GE(maps, 8);  // dense layers and convolutions
}

TEST(Initialization, OfHeKeepsTheVarianceOfWhatAReluTakes) {
  expect_deviations({.kind = InitializationKind::kHe},
                    [](const TorchFans& fans) { return std::sqrt(2.0 / fans.in); });
}

TEST(Initialization, OfXavierIsBetweenBothDirections) {
  expect_deviations({.kind = InitializationKind::kXavier, .gain = 1.5}, [](const TorchFans& fans) {
    return 1.5 * std::sqrt(2.0 / (fans.in + fans.out));
  });
}

TEST(Initialization, OfNormalNumbersHasTheirDeviation) {
  expect_deviations({.kind = InitializationKind::kNormal, .deviation = 0.3},
                    [](const TorchFans&) { return 0.3; });
}

TEST(Initialization, OrthogonalGivesRowsOrColumnsOfOneLengthAtRightAngles) {
  constexpr double kGain = 1.25;
  PerNetwork<Network> networks =
      initialised(beginning_as({.kind = InitializationKind::kOrthogonal, .gain = kGain}));
  for (Network& network : networks) {
    for (const Network::NamedParameter& named : network.parameters()) {
      if (named.parameter->tensor.dim() < 2) {
        continue;
      }
      const at::Tensor rows = named.parameter->tensor.detach().flatten(1).to(at::kDouble);
      const bool is_wide = rows.size(1) >= rows.size(0);
      const at::Tensor products = is_wide ? rows.mm(rows.t()) : rows.t().mm(rows);
      const at::Tensor expected = at::eye(products.size(0), at::kDouble) * (kGain * kGain);
      EXPECT_LE((products - expected).abs().max().item<double>(), 1e-5) << named.name;
    }
  }
}

TEST(Initialization, LeavesScalesBiasesAndEmbeddingsAsTheFamilyHasThem) {
  for (const char* family : {"dcgan", "r3gan", "biggan", "dense"}) {
    JobSpec job = beginning_as({.kind = InitializationKind::kHe});
    job.model = {.family = family_named(family), .width = 16, .latent = 16, .classes = 10};
    PerNetwork<Network> changed = initialised(job);
    PerNetwork<Network> usual = initialised([&] {
      JobSpec plain = job;
      for (NetworkSpec& network : plain.networks) {
        network.initialization = {};
      }
      return plain;
    }());
    int different = 0;
    for (const NetworkId id : changed.ids()) {
      const auto after = changed[id].parameters();
      const auto before = usual[id].parameters();
      ASSERT_EQ(after.size(), before.size());
      for (std::size_t i = 0; i < after.size(); ++i) {
        const bool is_equal = at::equal(after[i].parameter->tensor, before[i].parameter->tensor);
        different += is_equal ? 0 : 1;
        EXPECT_TRUE(is_equal || is_map(*after[i].parameter)) << after[i].name;
        const bool ends_a_branch = before[i].parameter->initial == Initial::kZero;
        EXPECT_TRUE(is_equal || !ends_a_branch) << after[i].name;
      }
    }
    // The hidden layers of dense networks have these initial values anyway.
    EXPECT_GE(different, 2) << family;
  }
}

TEST(Initialization, DrawsTheSameNumbersWhateverTheirScale) {
  PerNetwork<Network> narrow =
      initialised(beginning_as({.kind = InitializationKind::kNormal, .deviation = 0.02}));
  PerNetwork<Network> usual = initialised({});
  for (const NetworkId id : narrow.ids()) {
    const auto one = narrow[id].parameters();
    const auto other = usual[id].parameters();
    for (std::size_t i = 0; i < one.size(); ++i) {
      EXPECT_TRUE(at::equal(one[i].parameter->tensor, other[i].parameter->tensor)) << one[i].name;
    }
  }
}

}  // namespace
}  // namespace gangway::gan
