// SPDX-License-Identifier: MIT
#include "pipeline/stages/moments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gan/recipes/adversarial.hpp"
#include "pipeline/cut_phases.hpp"
#include "pipeline/stages/backward_stations.hpp"

namespace gangway::pipeline {
namespace {

using ::testing::ElementsAre;

struct Cut {
  JobSpec job;
  PerNetwork<NetworkGroup> groups;
  std::vector<Phase> phases;

  Cut(LossKind loss, StagePlacement placement) {
    job.training.microbatches = 4;
    job.training.loss = loss;
    job.layout.stages = 2;
    job.layout.placement = placement;
    groups = network_groups(job, 2);
    phases = cut_phases(gan::adversarial_phases(job), cuts_of(job));
  }
  /// Of the applications of a pass of the first phase.
  [[nodiscard]] std::vector<int> moments(std::size_t pass) const {
    const Pass& of = phases[0].passes[pass];
    const std::vector<int> all = forward_moments(of, owners_of(of, groups, 0));
    std::vector<int> found;
    for (std::size_t node = 0; node < all.size(); ++node) {
      if (std::holds_alternative<Application>(of.nodes[node])) {
        found.push_back(all[node]);
      }
    }
    return found;
  }
};

TEST(Moments, FollowTheChunksThatAMicrobatchGoesThrough) {
  const Cut cut(LossKind::kNonsaturating, StagePlacement::kLoop);
  EXPECT_THAT(cut.moments(0), ElementsAre(0, 1));
  EXPECT_THAT(cut.moments(1), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(first_backward_moment(cut.phases[0], cut.groups), 4);
}

TEST(Moments, OfAPassWithSeveralRowsKeepEachWorkersOrder) {
  // Real images are judged, then made ones: D on them follows the generator.
  const Cut cut(LossKind::kRelativistic, StagePlacement::kLoop);
  const Pass& pass = cut.phases[0].passes[0];
  const auto owners = owners_of(pass, cut.groups, 0);
  const std::vector<int> moments = forward_moments(pass, owners);
  for (std::size_t later = 0; later < moments.size(); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      if (owners[earlier] && owners[earlier] == owners[later]) {
        EXPECT_LE(moments[earlier], moments[later]) << earlier << " and " << later;
      }
    }
  }
}

TEST(Moments, OfAVStayOnTheWorkerThatMakesImages) {
  const Cut cut(LossKind::kNonsaturating, StagePlacement::kV);
  EXPECT_THAT(cut.moments(0), ElementsAre(0, 1));
  EXPECT_THAT(cut.moments(1), ElementsAre(0, 1, 2, 3));
  const Pass& fakes = cut.phases[0].passes[1];
  const auto owners = owners_of(fakes, cut.groups, 0);
  std::vector<int> workers;
  for (std::size_t node = 0; node < owners.size(); ++node) {
    if (std::holds_alternative<Application>(fakes.nodes[node])) {
      workers.push_back(*owners[node]);
    }
  }
  EXPECT_THAT(workers, ElementsAre(0, 1, 1, 0));
}

}  // namespace
}  // namespace gangway::pipeline
