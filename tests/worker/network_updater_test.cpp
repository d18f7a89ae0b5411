// SPDX-License-Identifier: MIT
#include "worker/step/network_updater.hpp"

#include <gtest/gtest.h>

#include "tests/worker/small_network.hpp"

namespace gangway::worker {
namespace {

class Updater : public ::testing::Test {
 protected:
  explicit Updater(Averaging averaging = Averaging::kYes)
      : network_(small_network("generator")),
        state_(network_, {.averaging = averaging}),
        mean_(state_.layout().size()) {
    for (std::size_t i = 0; i < mean_.size(); ++i) {
      mean_.data()[i] = static_cast<float>(i % 7) * 0.25F - 0.5F;
    }
  }
  static UpdatePlan plan(int harvests) {
    return {.settings = {.lr = 0.01, .betas = {0.5, 0.9}},
            .counts = {.updates = 0},
            .harvests = harvests,
            .average_decay = 0.75};
  }
  [[nodiscard]] comm::ElementRange everything() const { return {0, state_.layout().size()}; }
  void update(const UpdatePlan& plan, comm::ElementRange range) {
    NetworkUpdater updater(state_);
    updater.prepare(plan);
    updater.update(range, std::as_const(mean_).range(range));
  }
  static std::vector<float> copy(const comm::Arena& arena) {
    return {arena.data(), arena.data() + arena.size()};
  }

  gan::Network network_;
  NetworkState state_;
  comm::Arena mean_;
};

class UpdaterWithoutAverage : public Updater {
 protected:
  UpdaterWithoutAverage() : Updater(Averaging::kNo) {}
};

TEST_F(Updater, MovesStatisticsATenthOfTheWayToTheMeanOfTheHarvests) {
  const std::vector<float> before = copy(state_.weights());
  update(plan(2), everything());
  for (std::size_t i = state_.layout().statistics_range().begin; i < state_.layout().size(); ++i) {
    ASSERT_FLOAT_EQ(state_.weights().data()[i], 0.9F * before[i] + 0.1F * mean_.data()[i] / 2.0F)
        << i;
  }
}

TEST_F(Updater, LeavesStatisticsAloneInAPhaseThatHarvestsNone) {
  const std::vector<float> before = copy(state_.weights());
  update(plan(0), everything());
  for (std::size_t i = state_.layout().statistics_range().begin; i < state_.layout().size(); ++i) {
    ASSERT_EQ(state_.weights().data()[i], before[i]) << i;
  }
}

TEST_F(Updater, GivesStatisticsNoMoments) {
  update(plan(1), everything());
  for (std::size_t i = state_.layout().statistics_range().begin; i < state_.layout().size(); ++i) {
    ASSERT_EQ(state_.moments()[0].data()[i], 0.0F);
    ASSERT_EQ(state_.moments()[1].data()[i], 0.0F);
  }
}

TEST_F(Updater, RunsTheOptimiserOnParameters) {
  const std::vector<float> before = copy(state_.weights());
  update(plan(1), everything());
  for (std::size_t i = 0; i < state_.layout().parameter_range().end; ++i) {
    const float gradient = mean_.data()[i];
    ASSERT_FLOAT_EQ(state_.moments()[0].data()[i], 0.5F * gradient);
    // The first step of Adam is the rate times the gradient's sign.
    const float sign = gradient > 0.0F ? 1.0F : gradient < 0.0F ? -1.0F : 0.0F;
    ASSERT_NEAR(state_.weights().data()[i], before[i] - 0.01F * sign, 1e-6F) << i;
  }
}

TEST_F(Updater, AveragesNewWeightsAndNewStatistics) {
  const std::vector<float> average = copy(*state_.average());
  update(plan(1), everything());
  for (std::size_t i = 0; i < state_.layout().size(); ++i) {
    ASSERT_FLOAT_EQ(state_.average()->data()[i],
                    average[i] + 0.25F * (state_.weights().data()[i] - average[i]))
        << i;
  }
}

TEST_F(UpdaterWithoutAverage, UpdatesWeightsAllTheSame) {
  const std::vector<float> before = copy(state_.weights());
  update(plan(1), everything());
  EXPECT_NE(copy(state_.weights()), before);
  EXPECT_EQ(state_.average(), nullptr);
}

TEST_F(Updater, HasTheSameBitsInPiecesAsInOneGo) {
  gan::Network twin = small_network("generator");
  NetworkState whole(twin, {.averaging = Averaging::kYes});
  NetworkUpdater in_one_go(whole);
  in_one_go.prepare(plan(2));
  in_one_go.update(everything(), std::as_const(mean_).range(everything()));
  for (std::size_t begin = 0; begin < state_.layout().size(); begin += comm::kBlockElements) {
    update(plan(2), {begin, begin + comm::kBlockElements});
  }
  EXPECT_TRUE(same_bits(state_.weights(), whole.weights()));
  EXPECT_TRUE(same_bits(state_.moments()[0], whole.moments()[0]));
  EXPECT_TRUE(same_bits(state_.moments()[1], whole.moments()[1]));
  EXPECT_TRUE(same_bits(*state_.average(), *whole.average()));
}

TEST_F(Updater, TouchesNothingOutsideItsRange) {
  const std::vector<float> before = copy(state_.weights());
  update(plan(1), {comm::kBlockElements, 2 * comm::kBlockElements});
  const std::vector<float> after = copy(state_.weights());
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + comm::kBlockElements, after.begin()));
  EXPECT_TRUE(std::equal(before.begin() + 2 * comm::kBlockElements, before.end(),
                         after.begin() + 2 * comm::kBlockElements));
}

}  // namespace
}  // namespace gangway::worker
