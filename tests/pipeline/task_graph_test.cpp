// SPDX-License-Identifier: MIT
// What waits for what, by hand.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gan/recipes/recipes.hpp"
#include "pipeline/layout/placements.hpp"
#include "pipeline/staged/pass_plan.hpp"
#include "pipeline/staged/tasks.hpp"
#include "tests/adversarial_networks.hpp"

namespace gangway::pipeline {
namespace {

using ::testing::UnorderedElementsAre;

/// "K.forward 1.0": pass, operation, chunk, micro-batch. R: real, K: fakes, N: the generator for
/// them, A: for itself, H: what judges that.
std::string name(const StageInstruction& what) {
  const bool generates = what.network == kGenerator;
  const std::string place = " " + std::to_string(what.chunk) +
                            (what.microbatch < 0 ? "" : "." + std::to_string(what.microbatch));
  if (!computes(what.operation)) {
    return std::string(name_of(what.operation)) + (generates ? " G" : " D") + place;
  }
  const std::string pass = what.phase == 1  ? (generates ? "A" : "H")
                           : what.pass == 0 ? "R"
                                            : (generates ? "N" : "K");
  return pass + "." + std::string(name_of(what.operation)) + place;
}

class Graph {
 public:
  Graph(const JobSpec& job, const Layout& layout, const WorkOptions& options)
      : phases_(gan::phases_of(job)), graph_(phases_, layout, 0, 1, options) {}

  /// What the task of that name waits for; with a star: a tensor goes along.
  [[nodiscard]] std::vector<std::string> before(const std::string& wanted) const {
    for (int task = 0; task < graph_.size(); ++task) {
      if (name(graph_.task(task).what) != wanted) {
        continue;
      }
      std::vector<std::string> names;
      for (const Dependency& one : graph_.dependencies(task)) {
        names.push_back(name(graph_.task(one.task).what) + (one.carries ? "*" : ""));
      }
      return names;
    }
    ADD_FAILURE() << "there is no " << wanted;
    return {};
  }
  [[nodiscard]] int count(StageOperation operation) const {
    int count = 0;
    for (int task = 0; task < graph_.size(); ++task) {
      count += graph_.task(task).what.operation == operation ? 1 : 0;
    }
    return count;
  }

 private:
  std::vector<Phase> phases_;
  TaskGraph graph_;
};

Layout two_chunks_each(int microbatches) {
  return placed(Placement::kLoop, 2, microbatches, {2, 2});
}

TEST(TaskGraph, OfAPlainStep) {
  const Graph graph(JobSpec{}, two_chunks_each(1), {});
  EXPECT_THAT(graph.before("R.forward 0.0"), UnorderedElementsAre());
  EXPECT_THAT(graph.before("R.forward 1.0"), UnorderedElementsAre("R.forward 0.0*"));
  EXPECT_THAT(graph.before("R.input-gradient 1.0"), UnorderedElementsAre("R.forward 1.0"));
  EXPECT_THAT(graph.before("R.input-gradient 0.0"),
              UnorderedElementsAre("R.input-gradient 1.0*", "R.forward 0.0"));
  EXPECT_THAT(graph.before("R.weight-gradient 0.0"), UnorderedElementsAre("R.input-gradient 0.0"));
  EXPECT_THAT(graph.before("K.forward 0.0"), UnorderedElementsAre("N.forward 1.0*"));
  EXPECT_THAT(graph.before("A.forward 0.0"), UnorderedElementsAre());
  EXPECT_THAT(graph.before("H.forward 0.0"), UnorderedElementsAre("A.forward 1.0*", "reduce D 0"));
  EXPECT_THAT(graph.before("H.forward 1.0"), UnorderedElementsAre("H.forward 0.0*", "reduce D 1"));
  EXPECT_THAT(graph.before("A.input-gradient 1.0"),
              UnorderedElementsAre("H.input-gradient 0.0*", "A.forward 1.0"));
  EXPECT_THAT(
      graph.before("reduce D 1"),
      UnorderedElementsAre("R.forward 1.0", "R.input-gradient 1.0", "R.weight-gradient 1.0",
                           "K.forward 1.0", "K.input-gradient 1.0", "K.weight-gradient 1.0"));
  EXPECT_EQ(graph.count(StageOperation::kWeightGradient), 6) << "none of H";
}

TEST(TaskGraph, FusesBackwardWhereItTrains) {
  const Graph graph(JobSpec{}, two_chunks_each(1), {.backward = BackwardKind::kFused});
  EXPECT_THAT(graph.before("A.backward 0.0"),
              UnorderedElementsAre("A.backward 1.0*", "A.forward 0.0"));
  EXPECT_EQ(graph.count(StageOperation::kBackward), 6);
  EXPECT_EQ(graph.count(StageOperation::kInputGradient), 2) << "of H";
}

TEST(TaskGraph, TakesFakesThatAnEarlierPhaseMade) {
  JobSpec job;
  job.training.reuse_fakes = true;
  const Graph graph(job, two_chunks_each(1), {});
  EXPECT_THAT(graph.before("H.forward 0.0"), UnorderedElementsAre("N.forward 1.0*", "reduce D 0"));
  EXPECT_THAT(graph.before("A.input-gradient 0.0"),
              UnorderedElementsAre("A.input-gradient 1.0*", "N.forward 0.0"));
}

TEST(TaskGraph, LetsALossOfTwoApplicationsWaitForBoth) {
  JobSpec job;
  job.training.loss = LossKind::kRelativistic;
  const std::vector<Phase> phases = gan::phases_of(job);
  const TaskGraph graph(phases, two_chunks_each(1), 0, 1, {});
  int waits = 0;
  for (int task = 0; task < graph.size(); ++task) {
    const StageInstruction& what = graph.task(task).what;
    if (what.operation == StageOperation::kInputGradient && what.network == kDiscriminator &&
        what.chunk == 1) {
      const auto all = graph.dependencies(task);
      EXPECT_EQ(std::ranges::count(all, true, &Dependency::carries), 1) << "the other's logits";
      ++waits;
    }
  }
  EXPECT_EQ(waits, 3) << "both in the discriminator's phase, and of fakes in the generator's";
}

TEST(TaskGraph, SweepsAPenaltyFourTimes) {
  JobSpec job;
  job.training.loss = LossKind::kWasserstein;
  job.training.penalty.gradient_penalty = 10.0;
  const Graph graph(job, two_chunks_each(1), {});
  EXPECT_THAT(graph.before("K.first-sweep 0.0"), UnorderedElementsAre("N.forward 1.0*"));
  EXPECT_THAT(graph.before("K.first-sweep 1.0"), UnorderedElementsAre("K.first-sweep 0.0*"));
  EXPECT_THAT(graph.before("K.second-sweep 1.0"), UnorderedElementsAre("K.first-sweep 1.0"));
  EXPECT_THAT(graph.before("K.second-sweep 0.0"),
              UnorderedElementsAre("K.second-sweep 1.0*", "K.first-sweep 0.0"));
  // Behind real and fake, as declared: more than two sums do not commute.
  EXPECT_THAT(graph.before("K.third-sweep 0.0"),
              UnorderedElementsAre("K.second-sweep 0.0", "K.weight-gradient 0.0"));
  EXPECT_THAT(graph.before("K.fourth-sweep 1.0"),
              UnorderedElementsAre("K.third-sweep 1.0", "K.third-sweep 1.0"));
}

TEST(TaskGraph, OpensOneLeafAfterTheOther) {
  const Graph graph(JobSpec{}, two_chunks_each(2), {.max_open_leaves = 1});
  EXPECT_THAT(graph.before("R.weight-gradient 1.1"),
              UnorderedElementsAre("R.input-gradient 1.1", "R.weight-gradient 1.0",
                                   "K.weight-gradient 1.0"));
}

TEST(TaskGraph, WaitsForTheUpdatesOfAllReplicas) {
  const Graph graph(JobSpec{}, groups_apart({1, 2}, 2, {1, 1}), {});
  EXPECT_THAT(graph.before("H.forward 0.0"), UnorderedElementsAre("A.forward 0.0*", "await D 0"));
  EXPECT_THAT(graph.before("await D 0"), UnorderedElementsAre("reduce D 0", "reduce D 0"));
}

TEST(TaskGraph, ComputesForwardAgainOfWhatItWasGiven) {
  const Graph graph(JobSpec{}, two_chunks_each(1), {.recomputes = {{false, true}, {false, false}}});
  EXPECT_THAT(graph.before("A.recompute 1.0"),
              UnorderedElementsAre("H.input-gradient 0.0*", "A.forward 1.0", "A.forward 0.0*"));
  EXPECT_THAT(graph.before("A.input-gradient 1.0"),
              UnorderedElementsAre("H.input-gradient 0.0*", "A.recompute 1.0"));
}

TEST(WeightVersions, CountUpdatesInTheOrderOfPhases) {
  JobSpec job;
  job.network("discriminator").steps = 2;
  job.training.penalty = {.r1_gamma = 1.0, .r1_interval = 4};
  const std::vector<Phase> phases = gan::phases_of(job);
  ASSERT_EQ(phases.size(), 3U);
  EXPECT_EQ(version_at(phases, kDiscriminator, 0, 0, 0), 0);
  EXPECT_EQ(version_at(phases, kDiscriminator, 0, 0, 1), 1);
  EXPECT_EQ(version_at(phases, kDiscriminator, 0, 1, 0), 2);
  EXPECT_EQ(version_at(phases, kDiscriminator, 0, 2, 0), 2);
  EXPECT_EQ(version_at(phases, kDiscriminator, 1, 0, 0), 3);
  // Two in each of five steps, and the lazy ones of steps 0 and 4.
  EXPECT_EQ(version_at(phases, kDiscriminator, 5, 0, 0), 12);
  EXPECT_EQ(version_at(phases, kGenerator, 5, 0, 0), 5);
  EXPECT_EQ(version_at(phases, kGenerator, 5, 2, 0), 6);
}

}  // namespace
}  // namespace gangway::pipeline
