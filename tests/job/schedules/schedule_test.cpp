// SPDX-License-Identifier: MIT
#include "job/schedules/schedule.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace gangway {
namespace {

constexpr double kLength = 12'000.0;  // images at the end of the burn-in

/// Compares the factor after each thousand images with a scheduler of PyTorch that makes one step
/// per thousand. Numbers: tests/job/schedules/torch_schedules.py (PyTorch 2.11).
void expect_rates(const ScheduleSpec& schedule, const std::vector<double>& rates) {
  for (std::size_t step = 0; step < rates.size(); ++step) {
    EXPECT_NEAR(scheduled(1.0, schedule, 1000.0 * static_cast<double>(step), kLength), rates[step],
                1e-12)
        << step;
  }
}

TEST(Schedules, StayAtTheBaseByThemselves) {
  for (const double images : {0.0, 5.0, 1e12}) {
    EXPECT_EQ(scheduled(0.3, {}, images, kLength), 0.3);
  }
}

TEST(Schedules, WarmUpLikeLinearLR) {
  expect_rates({.warmup_kimg = 5.0, .warmup_from = 0.25},
               {0.25, 0.40000000000000002, 0.55000000000000004, 0.70000000000000007,
                0.84999999999999998, 1, 1, 1, 1, 1, 1, 1, 1});
}

TEST(Schedules, FallLikeLinearLR) {
  expect_rates(
      {.decay = DecayKind::kLinear, .end_kimg = 10.0, .final_value = 0.1},
      {1, 0.91000000000000003, 0.82000000000000006, 0.73000000000000009, 0.64000000000000001,
       0.55000000000000004, 0.46000000000000008, 0.37000000000000005, 0.28000000000000003,
       0.19000000000000003, 0.10000000000000003, 0.10000000000000003, 0.10000000000000003});
}

TEST(Schedules, FallLikeCosineAnnealingLR) {
  expect_rates(
      {.decay = DecayKind::kCosine, .final_value = 0.05},
      {1, 0.98381476748730745, 0.93636206679760847, 0.86087572106360999, 0.76249999999999996,
       0.64793904642369737, 0.52500000000000002, 0.40206095357630273, 0.28750000000000014,
       0.18912427893639, 0.11363793320239164, 0.066185232512692621, 0.050000000000000003});
}

TEST(Schedules, BeginAgainLikeCosineAnnealingWarmRestarts) {
  expect_rates({.decay = DecayKind::kCosine, .final_value = 0.05, .cycles = 3},
               {1, 0.8608757210636101, 0.52500000000000002, 0.18912427893638994, 1,
                0.8608757210636101, 0.52500000000000002, 0.18912427893638994, 1, 0.8608757210636101,
                0.52500000000000002, 0.18912427893638994});
}

TEST(Schedules, FallLikeStepLR) {
  expect_rates({.decay = DecayKind::kStep, .step_kimg = 3.0, .step_factor = 0.7},
               {1, 1, 1, 0.69999999999999996, 0.69999999999999996, 0.69999999999999996,
                0.48999999999999994, 0.48999999999999994, 0.48999999999999994, 0.34299999999999992,
                0.34299999999999992, 0.34299999999999992, 0.24009999999999992});
}

TEST(Schedules, FallLikeMultiStepLR) {
  expect_rates({.decay = DecayKind::kStep, .step_factor = 0.3, .milestones = {2.0, 7.0, 11.0}},
               {1, 1, 0.29999999999999999, 0.29999999999999999, 0.29999999999999999,
                0.29999999999999999, 0.29999999999999999, 0.089999999999999997,
                0.089999999999999997, 0.089999999999999997, 0.089999999999999997, 0.027, 0.027});
}

TEST(Schedules, FallLikeExponentialLR) {
  expect_rates(
      {.decay = DecayKind::kExponential, .final_value = std::pow(0.8, 12.0)},
      {1, 0.80000000000000004, 0.64000000000000012, 0.51200000000000012, 0.40960000000000013,
       0.32768000000000014, 0.2621440000000001, 0.2097152000000001, 0.16777216000000009,
       0.13421772800000006, 0.10737418240000006, 0.08589934592000005, 0.06871947673600004});
}

/// OneCycleLR counts steps from 0 to `kSteps` - 1, so its peak is a step before its given share.
constexpr double kSteps = 13.0;
constexpr double kTorchPeak = (0.3 * kSteps - 1.0) / (kSteps - 1.0);

TEST(Schedules, GoUpAndDownLikeOneCycleLR) {
  expect_rates({.decay = DecayKind::kOneCycle,
                .final_value = 1.0 / 25e4,
                .initial_value = 1.0 / 25.0,
                .peak = kTorchPeak},
               {0.040000000000000036, 0.29516394846410077, 0.78936979137394347, 0.99970207146725421,
                0.96437826255017089, 0.87425587706405417, 0.73996977910493733, 0.57736635793647106,
                0.4056335797487326, 0.24503671767014096, 0.11452695450885979, 0.029505054314122554,
                3.9999999999999998e-06});
}

TEST(Schedules, GoUpAndDownOnLinesLikeOneCycleLR) {
  expect_rates({.decay = DecayKind::kOneCycle,
                .final_value = 1e-3,
                .initial_value = 0.1,
                .peak = kTorchPeak,
                .anneal = Anneal::kLinear},
               {0.10000000000000001, 0.41034482758620694, 0.72068965517241379, 0.989021978021978,
                0.87924175824175821, 0.76946153846153842, 0.65968131868131863, 0.54990109890109895,
                0.44012087912087916, 0.33034065934065937, 0.22056043956043958, 0.11078021978021979,
                0.0010000000000000009});
}

TEST(Schedules, WaitForTheirStartAndStayAtTheirEnd) {
  const ScheduleSpec schedule{
      .decay = DecayKind::kLinear, .start_kimg = 4.0, .end_kimg = 8.0, .final_value = 0.0};
  for (const auto& [images, value] :
       {std::pair(0.0, 2.0), {4'000.0, 2.0}, {5'000.0, 1.5}, {8'000.0, 0.0}, {1e9, 0.0}}) {
    EXPECT_DOUBLE_EQ(scheduled(2.0, schedule, images, kLength), value) << images;
  }
}

TEST(Schedules, OfSeveralCyclesBeginEachAtTheBaseAndEndAtTheFinalValue) {
  const ScheduleSpec schedule{
      .decay = DecayKind::kCosine, .end_kimg = 0.7, .final_value = 0.25, .cycles = 7};
  for (int cycle = 0; cycle < 7; ++cycle) {
    EXPECT_EQ(scheduled(1.0, schedule, 100.0 * cycle, kLength), 1.0) << cycle;
  }
  EXPECT_EQ(scheduled(1.0, schedule, 700.0, kLength), 0.25);
  EXPECT_EQ(scheduled(1.0, schedule, 701.0, kLength), 0.25);
}

TEST(Schedules, RiseToAFinalValueAboveTheBase) {
  const ScheduleSpec schedule{.decay = DecayKind::kExponential, .final_value = 1.0};
  EXPECT_DOUBLE_EQ(scheduled(1e-6, schedule, 0.0, kLength), 1e-6);
  EXPECT_NEAR(scheduled(1e-6, schedule, kLength / 2.0, kLength), 1e-3, 1e-15);
  EXPECT_DOUBLE_EQ(scheduled(1e-6, schedule, kLength, kLength), 1.0);
}

TEST(Schedules, AreOverAtOnceWhereTheyHaveNoLength) {
  EXPECT_EQ(scheduled(1.0, {.decay = DecayKind::kCosine, .final_value = 0.5}, 0.0, 0.0), 0.5);
}

TEST(Schedules, EndWithTheBurnInUnlessTheyHaveAnEnd) {
  EXPECT_FALSE(ends_with_burn_in({}));
  EXPECT_FALSE(ends_with_burn_in({.warmup_kimg = 3.0}));
  EXPECT_FALSE(ends_with_burn_in({.decay = DecayKind::kStep, .step_kimg = 3.0}));
  for (const DecayKind decay :
       {DecayKind::kLinear, DecayKind::kCosine, DecayKind::kExponential, DecayKind::kOneCycle}) {
    EXPECT_TRUE(ends_with_burn_in({.decay = decay}));
    EXPECT_FALSE(ends_with_burn_in({.decay = decay, .end_kimg = 3.0}));
  }
}

}  // namespace
}  // namespace gangway
