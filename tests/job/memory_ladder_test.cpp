// SPDX-License-Identifier: MIT
#include "job/estimate/memory_ladder.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/file/parse.hpp"

namespace gangway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

JobSpec job_with(std::vector<std::string> overrides) {
  return load_job({.file = {}, .text = std::nullopt, .overrides = std::move(overrides)}).spec;
}

std::string rung_of(std::vector<std::string> overrides, int workers) {
  const JobSpec job = job_with(std::move(overrides));
  return next_exact_rung(job, resolve_layout(job, workers));
}

TEST(MemoryLadder, LeavesGraphsOfAGpuFirst) {
  EXPECT_EQ(rung_of({"numerics.device=cuda", "numerics.cuda_graph=branches"}, 1),
            "numerics.cuda_graph=on");
  EXPECT_EQ(rung_of({"numerics.device=cuda"}, 1), "numerics.cuda_graph=off");
  EXPECT_EQ(rung_of({"numerics.device=cuda", "numerics.cuda_graph=off"}, 1),
            "layout.stages=2 and 2 workers");
}

TEST(MemoryLadder, HalvesWhatIsInFlightWhereNetworksAreCut) {
  const std::vector<std::string> cut{"training.microbatches=8", "layout.stages=2"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = cut;
    all.insert(all.end(), more.begin(), more.end());
    return rung_of(all, 2);
  };
  EXPECT_EQ(with({"layout.schedule=gpipe"}), "layout.schedule=1f1b");
  EXPECT_EQ(with({}), "layout.in_flight=4");
  EXPECT_EQ(with({"layout.in_flight=4"}), "layout.in_flight=2");
  EXPECT_EQ(with({"layout.schedule=1f1b"}), "layout.in_flight=1");
  EXPECT_EQ(with({"layout.in_flight=1"}), "layout.stages=4 and 4 workers");
}

TEST(MemoryLadder, MakesAgainWhatIsPredictedToSaveSomething) {
  const std::vector<std::string> transformer{"model.family=gat", "model.width=64", "model.patch=4",
                                             "training.batch=128"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = transformer;
    all.insert(all.end(), more.begin(), more.end());
    return rung_of(all, 1);
  };
  EXPECT_EQ(with({}), "layout.recompute=true");
  EXPECT_EQ(with({"training.r1.gamma=1"}), "layout.stages=2 and 2 workers")
      << "a penalty keeps all blocks";
  EXPECT_EQ(rung_of({"training.batch=512"}, 1), "layout.stages=2 and 2 workers")
      << "nearly all of a DCGAN's maps flow between its blocks";
  EXPECT_EQ(rung_of({"layout.generator=[1]", "layout.discriminator=[2]", "training.batch=2048",
                     "training.microbatches=8"},
                    2),
            "layout.recompute=true")
      << "apart, the forwards of all micro-batches wait";
}

TEST(MemoryLadder, TakesMoreStagesLast) {
  EXPECT_EQ(rung_of({}, 2), "layout.stages=2 and 4 workers");
  EXPECT_EQ(rung_of({"layout.recompute=true"}, 2), "layout.stages=2 and 4 workers");
}

TEST(MemoryLadder, KnowsWhatMakesAnotherJobOfIt) {
  EXPECT_THAT(
      inexact_rungs(job_with({"training.batch=128", "training.microbatches=4"})),
      ElementsAre("training.microbatches=8", "numerics.precision=bf16", "training.batch=64"));
  EXPECT_THAT(inexact_rungs(job_with(
                  {"training.batch=12", "training.microbatches=4", "numerics.precision=bf16"})),
              IsEmpty());
}

}  // namespace
}  // namespace gangway
