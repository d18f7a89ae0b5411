// SPDX-License-Identifier: MIT
#include "gan/augment/augmentation.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <ATen/ExpandUtils.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include "base/errors.hpp"
#include "gan/blocks/build_networks.hpp"
#include "gan/random_tensors.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/gan/statistic_sums.hpp"

namespace gangway::gan {
namespace {

constexpr AugmentationSpec kAllOfAda{.policy = AugmentPolicy::kAda,
                                     .chosen = available_kinds(AugmentPolicy::kAda)};

at::Tensor some_pictures(std::int64_t channels = 3) {
  return keyed_normal({.seed = 21}, {8, channels, 16, 16}, at::kCPU);
}

at::Tensor strength_of(double p) { return at::full({1}, p, at::kDouble); }

RandomKey at_microbatch(std::int32_t microbatch) {
  return {.seed = 22, .step = 3, .microbatch = microbatch};
}

JobSpec adaptive_job() {
  JobSpec job;
  job.model.width = 8;
  job.training.augment.policy = AugmentPolicy::kAda;
  return job;
}

TEST(Augmentation, KeepsEveryBitWithStrengthZero) {
  Augmentation augmentation(kAllOfAda, 64.0);
  for (const std::int64_t channels : {1, 3}) {
    const at::Tensor pictures = some_pictures(channels);
    const at::Tensor result = augmentation.augmented(pictures, strength_of(0.0), at_microbatch(0));
    EXPECT_TRUE(at::equal(result, pictures));
    EXPECT_FALSE(result.is_same(pictures));
  }
}

TEST(Augmentation, KeepsTheBitsOfPicturesThatNothingHappensTo) {
  Augmentation augmentation(kAllOfAda, 64.0);
  const at::Tensor pictures = keyed_normal({.seed = 21}, {64, 3, 16, 16}, at::kCPU);
  const at::Tensor result = augmentation.augmented(pictures, strength_of(0.05), at_microbatch(0));
  const at::Tensor is_same = result.eq(pictures).flatten(1).all(1);
  for (std::int64_t i = 0; i < 64; ++i) {
    const DrawnAugmentation drawn =
        drawn_augmentation(chances_of(kAllOfAda), 0.05, at_microbatch(0), i, {3, 16});
    const bool has_other_values =
        drawn.resamples + drawn.changes_colors + drawn.filters + drawn.noise + drawn.cuts_out > 0.0;
    if (has_other_values) {
      EXPECT_FALSE(is_same[i].item<bool>()) << i;
    } else if (drawn.moves_pixels == 0.0) {
      EXPECT_TRUE(is_same[i].item<bool>()) << i;
    }
  }
  EXPECT_TRUE(is_same.any().item<bool>());
  EXPECT_FALSE(is_same.all().item<bool>());
}

TEST(Augmentation, DependsOnTheKeyOfTheMicrobatchAlone) {
  const at::Tensor pictures = some_pictures();
  Augmentation one(kAllOfAda, 64.0);
  Augmentation other(kAllOfAda, 64.0);
  (void)other.augmented(pictures, strength_of(1.0),
                        at_microbatch(7));  // another worker starts elsewhere
  const at::Tensor result = one.augmented(pictures, strength_of(1.0), at_microbatch(2));
  EXPECT_TRUE(at::equal(other.augmented(pictures, strength_of(1.0), at_microbatch(2)), result));
  EXPECT_FALSE(at::equal(one.augmented(pictures, strength_of(1.0), at_microbatch(3)), result));
}

TEST(Augmentation, KeepsTheMemoryFormat) {
  Augmentation augmentation(kAllOfAda, 64.0);
  const at::Tensor pictures = some_pictures().contiguous(at::MemoryFormat::ChannelsLast);
  for (const double strength : {0.0, 0.5, 1.0}) {
    const at::Tensor result =
        augmentation.augmented(pictures, strength_of(strength), at_microbatch(0));
    EXPECT_TRUE(result.is_contiguous(at::MemoryFormat::ChannelsLast)) << strength;
  }
}

TEST(Augmentation, LetsGradientsThrough) {
  Augmentation augmentation(kAllOfAda, 64.0);
  const at::Tensor in = some_pictures().to(at::kDouble).requires_grad_(true);
  const at::Tensor weights = keyed_normal({.seed = 23}, in.sizes(), at::kCPU).to(at::kDouble);
  const at::Tensor direction = keyed_normal({.seed = 24}, in.sizes(), at::kCPU).to(at::kDouble);
  const auto transform = [&](const at::Tensor& pictures) {
    return augmentation.augmented(pictures, strength_of(0.5), at_microbatch(0));
  };
  (transform(in) * weights).sum().backward();
  const at::NoGradGuard no_grad;
  const double expected = ((transform(in + direction) - transform(in - direction)) / 2.0 * weights)
                              .sum()
                              .item<double>();
  EXPECT_NEAR((in.grad() * direction).sum().item<double>(), expected,
              1e-8 * (1.0 + std::abs(expected)));
}

TEST(Augmentation, StrengthRisesAboveTheTargetAndFallsBelowIt) {
  const AugmentationSpec spec{.policy = AugmentPolicy::kAda, .target = 0.6, .kimg = 1.0};
  const auto next = [&](double strength, double signs) {
    return next_strength(spec, strength_of(64.0), strength_of(strength), strength_of(signs))
        .item<double>();
  };
  EXPECT_DOUBLE_EQ(next(0.5, 0.7), 0.564);
  EXPECT_DOUBLE_EQ(next(0.5, 0.5), 0.436);
  EXPECT_EQ(next(0.5, 0.6), 0.5);
  EXPECT_EQ(next(0.01, -1.0), 0.0);
  EXPECT_DOUBLE_EQ(next(0.99, 1.0), 1.054);  // 1 is no upper bound
}

TEST(Augmentation, AddsStatisticsToTheDiscriminatorOfAnAdaptiveJobAlone) {
  JobSpec job = adaptive_job();
  const auto names = [](gan::Network& network) {
    std::vector<std::string> found;
    for (const auto& named : network.statistics()) {
      found.push_back(named.name);
    }
    return found;
  };
  PerNetwork<Network> adaptive = build_networks(job);
  job.training.augment.strength = 0.5;
  PerNetwork<Network> fixed = build_networks(job);
  const std::vector<std::string> plain = names(fixed[kDiscriminator]);
  std::vector<std::string> more = names(adaptive[kDiscriminator]);
  ASSERT_EQ(more.size(), plain.size() + 2);
  EXPECT_TRUE(more[plain.size()].ends_with("/augment.signs"));
  EXPECT_TRUE(more[plain.size() + 1].ends_with("/augment.strength"));
  EXPECT_EQ(names(adaptive[kGenerator]), names(fixed[kGenerator]));
}

TEST(Augmentation, HarvestsTheSignsAndMovesTheStrengthByThoseOfTheUpdateBefore) {
  const JobSpec job = adaptive_job();
  PerNetwork<Network> networks = build_networks(job);
  Network& judge = networks[kDiscriminator];
  judge.initialise(1);
  const Augmentation augmentation(job.training.augment, 1000.0);

  const auto statistics = judge.statistics();
  Statistic& signs = *statistics[statistics.size() - 2].statistic;
  Statistic& strength = *statistics.back().statistic;
  EXPECT_EQ(Augmentation::strength_of(strength.running).item<double>(), 0.0);
  signs.running.fill_(0.75);
  strength.running.fill_(0.25);
  StatisticSums seen;
  augmentation.harvest(judge, at::tensor({-2.0F, 0.5F, 3.0F, 0.25F}).reshape({4, 1}), seen);
  EXPECT_EQ(seen.of(signs).item<float>(), 0.5F);
  EXPECT_FLOAT_EQ(seen.of(strength).item<float>(), 0.25F + 1.0F / 500.0F);
  strength.running.fill_(-1e-6F);  // as a rounding error gives it
  EXPECT_EQ(Augmentation::strength_of(strength.running).item<double>(), 0.0);
}

TEST(Augmentation, MovesTheStrengthBehindEveryFewUpdatesByTheirMeanSign) {
  JobSpec job = adaptive_job();
  job.training.augment.interval = 2;
  PerNetwork<Network> networks = build_networks(job);
  Network& judge = networks[kDiscriminator];
  const Augmentation augmentation(job.training.augment, 1000.0);
  const auto statistics = judge.statistics();
  const std::size_t count = statistics.size();
  Statistic& signs = *statistics[count - 3].statistic;
  Statistic& strength = *statistics[count - 2].statistic;
  Statistic& updates = *statistics[count - 1].statistic;
  strength.running.fill_(0.25F);
  // Adds the signs' mean of an update. Returns the strength after it.
  const auto update = [&](const at::Tensor& logits) {
    StatisticSums seen;
    augmentation.harvest(judge, logits, seen);
    for (Statistic* one : {&signs, &strength, &updates}) {
      one->running = seen.of(*one).clone();
    }
    return strength.running.item<float>();
  };
  EXPECT_EQ(update(at::tensor({1.0F, 1.0F, 1.0F, 1.0F})), 0.25F);
  EXPECT_EQ(update(at::tensor({1.0F, 1.0F, 1.0F, -1.0F})), 0.25F);
  EXPECT_EQ(updates.running.item<float>(), 2.0F);
  EXPECT_EQ(signs.running.item<float>(), 1.5F);
  // 0.75 is above the target 0.6. The strength grows by two updates' 1,000 images / 500,000.
  EXPECT_FLOAT_EQ(update(at::tensor({-1.0F, -1.0F, -1.0F, -1.0F})), 0.25F + 2.0F / 500.0F);
  EXPECT_EQ(updates.running.item<float>(), 1.0F);
  EXPECT_EQ(signs.running.item<float>(), -1.0F);
}

TEST(Augmentation, ThatDoesNotAdaptHasTheStrengthOfTheJob) {
  AugmentationSpec spec{.policy = AugmentPolicy::kAda};
  EXPECT_EQ(Augmentation(spec, 64.0).fixed_strength(), 1.0);
  spec.strength = 0.5;
  EXPECT_EQ(Augmentation(spec, 64.0).fixed_strength(), 0.5);
}

// Meta kernels that LibTorch has only in Python.
at::Tensor where_of_no_numbers(const at::Tensor& condition, const at::Tensor& one,
                               const at::Tensor& other) {
  const auto shape = at::infer_size(condition.sizes(), at::infer_size(one.sizes(), other.sizes()));
  return at::empty(shape, one.options());
}
at::Tensor& abs_of_no_numbers(const at::Tensor& of, at::Tensor& out) {
  out.resize_(of.sizes());
  return out;
}
TORCH_LIBRARY_IMPL(aten, Meta, library) {
  library.impl("where.self", where_of_no_numbers);
  library.impl("abs.out", abs_of_no_numbers);
}

/// Meta tensors have no values, so reading one would fail.
TEST(Augmentation, AsksADeviceForNothing) {
  JobSpec job = adaptive_job();
  job.training.augment.interval = 4;
  PerNetwork<Network> networks = build_networks(job);
  Network& judge = networks[kDiscriminator];
  for (const Network::NamedStatistic& named : judge.statistics()) {
    named.statistic->running = named.statistic->running.to(at::kMeta);
  }
  StatisticSums seen;
  const at::Tensor logits = at::empty({8, 1}, at::device(at::kMeta).dtype(at::kFloat));
  EXPECT_NO_THROW(Augmentation(job.training.augment, 64.0).harvest(judge, logits, seen));
  AugmentationSpec of_diffaugment{.policy = AugmentPolicy::kDiffAugment};
  for (const AugmentationSpec& spec : {kAllOfAda, of_diffaugment}) {
    for (const std::int64_t channels : {1, 3}) {
      const at::Tensor pictures = some_pictures(channels).to(at::kMeta).requires_grad_(true);
      const at::Tensor result =
          Augmentation(spec, 64.0)
              .augmented(pictures, strength_of(0.5).to(at::kMeta), at_microbatch(0));
      EXPECT_EQ(result.sizes(), pictures.sizes());
      EXPECT_NO_THROW(result.sum().backward());
    }
  }
}

}  // namespace

// The kernel for a meta device draws no numbers.
void draw_augmentations_on_device(const AugmentChances& /*chances*/, const at::Tensor& /*strength*/,
                                  const RandomKey& /*key*/, const PictureShape& /*shape*/,
                                  const at::Tensor& out) {
  ASSERT_TRUE(out.is_meta());
}

}  // namespace gangway::gan
