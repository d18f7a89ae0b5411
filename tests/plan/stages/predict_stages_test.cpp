// SPDX-License-Identifier: MIT
#include "plan/stages/predict_stages.hpp"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/file/parse.hpp"
#include "plan/ranking/plan_text.hpp"
#include "plan/ranking/search.hpp"
#include "plan/staged_job.hpp"
#include "plan/stages/schedule_text.hpp"
#include "tests/plan/sample_plan.hpp"

namespace gangway::plan {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kArenaBytes = kArenaElements * 4;

Prediction staged(int microbatches, const Cluster& cluster, const Candidate& layout) {
  const auto planner = sample_planner(microbatches, cluster);
  return StagePlanner(planner->input()).predict(layout);
}

TEST(PredictStages, TakeAsLongEachByItselfAsTheOneThatIsSimulatedForAll) {
  const auto planner = sample_planner(14, sample_cluster(2, 2));
  for (const int workers : {1, 2, 3, 4}) {
    const Candidate layout = sample_whole(workers);
    const Prediction at_once = predict(planner->input(), layout);
    const Prediction each = StagePlanner(planner->input()).predict(layout);
    EXPECT_NEAR(each.step_seconds, at_once.step_seconds, 1e-4 * at_once.step_seconds) << workers;
    EXPECT_EQ(each.memory.arenas_bytes, at_once.memory.arenas_bytes) << workers;
    EXPECT_EQ(each.bytes_between_hosts, at_once.bytes_between_hosts) << workers;
  }
}

TEST(PredictStages, NetworksApartTakeAsLongAsTheDearest) {
  // The discriminator has 9 of a micro-batch's 13 ms; the generator's update hides under its work.
  const Prediction two = staged(8, sample_cluster(1, 2), sample_apart());
  EXPECT_GT(two.step_seconds, 8 * 0.009);
  EXPECT_LT(two.step_seconds, 8 * kMicrobatchSeconds);
  EXPECT_NEAR(two.parts.total(), two.step_seconds, 1e-9);
  EXPECT_GT(two.parts.bubble, 0.0);
}

TEST(PredictStages, ShareTheWorkWhereThereAreEnoughMicrobatches) {
  const Prediction two = staged(8, sample_cluster(1, 2), sample_stages(2));
  EXPECT_GE(two.step_seconds, 8 * kMicrobatchSeconds / 2);
  EXPECT_LT(two.step_seconds, 8 * kMicrobatchSeconds / 2 * 1.4);
  // Another row computes the other half of the micro-batches at the same time.
  const Prediction rows = staged(16, sample_cluster(2, 2), sample_stages(4));
  EXPECT_NEAR(rows.step_seconds, two.step_seconds, 0.1 * two.step_seconds);
  const Prediction few = staged(2, sample_cluster(1, 2), sample_stages(2));
  EXPECT_GT(few.parts.bubble / few.step_seconds, two.parts.bubble / two.step_seconds);
}

TEST(PredictStages, CarriesManyMicrobatchesOnFromFewer) {
  const Prediction hundred = staged(96, sample_cluster(1, 2), sample_stages(2));
  const Prediction twice = staged(192, sample_cluster(1, 2), sample_stages(2));
  const double more = twice.step_seconds - hundred.step_seconds;
  const auto planner = sample_planner(96, sample_cluster(1, 2));
  EXPECT_NEAR(more, StagePlanner(planner->input()).least_seconds(sample_stages(2)), 0.01 * more);
  EXPECT_GT(twice.memory.working_bytes, hundred.memory.working_bytes);
}

TEST(PredictStages, EachHoldsAllWeightsAndOfTheRestItsPart) {
  const Prediction apart = staged(4, sample_cluster(2, 1), sample_apart());
  // Weights of both networks; of one network a leaf, the sums of four micro-batches, two moments.
  const std::int64_t whole =
      predict(sample_planner(4, sample_cluster(1, 1))->input(), sample_whole(1))
          .memory.arenas_bytes;
  EXPECT_EQ(apart.memory.arenas_bytes, 2 * kArenaBytes + (whole - 2 * kArenaBytes) / 2);
  const Prediction cut = staged(4, sample_cluster(1, 2), sample_stages(2));
  EXPECT_EQ(cut.memory.arenas_bytes, 2 * kArenaBytes + (whole - 2 * kArenaBytes) / 2);
}

TEST(PredictStages, KeepForwardsOfAllMicrobatchesWherePhasesBeginAndEndTogether) {
  const auto by_phase = [](int microbatches) {
    Candidate layout = sample_stages(2);
    layout.choice.schedule = StageOrder::kByPhase;
    return staged(microbatches, sample_cluster(1, 2), layout);
  };
  const Prediction four = by_phase(4);
  const Prediction eight = by_phase(8);
  // A block keeps 1000 bytes; a phase has two passes at most.
  EXPECT_GE(eight.memory.working_bytes - four.memory.working_bytes, 4 * 2 * 1000);
}

TEST(PredictStages, ASlowLinkIsSparedByWhatSendsLess) {
  Cluster cluster = sample_cluster(2, 1);
  cluster.between.bytes_per_second = kArenaElements * 4.0 / 0.5;
  const auto planner = sample_planner(8, cluster);
  const Search search = search_layouts(planner->input(), {.rows = 20, .shapes = Shapes::kAll});
  EXPECT_FALSE(search.ranking.front().candidate.is_whole());
  const auto of = [&](bool (Candidate::*shape)() const) {
    return std::ranges::find_if(search.ranking, [&](const Prediction& one) {
      return (one.candidate.*shape)() && one.candidate.workers == 2;
    });
  };
  const auto whole = of(&Candidate::is_whole);
  EXPECT_LT(of(&Candidate::has_stages)->step_seconds, whole->step_seconds);
  EXPECT_THAT(why_behind(*whole, search.ranking.front()), HasSubstr("wire"));
  EXPECT_THAT(plan_text(search, planner->input(), {"j.yaml"}),
              HasSubstr("Run it: gangway run j.yaml -n 2 --hostfile hosts layout."));
}

TEST(PredictStages, LoseWhereLinksCostNothing) {
  const auto planner = sample_planner(8, sample_cluster(1, 2));
  const Search search = search_layouts(planner->input(), {.rows = 20, .shapes = Shapes::kAll});
  EXPECT_TRUE(search.ranking.front().candidate.is_whole());
  // A layout whose stages share the work unevenly may have no bubble in some orders.
  const auto cut = std::ranges::find_if(search.ranking, [](const Prediction& one) {
    return one.candidate.has_stages() && one.candidate.choice.schedule != StageOrder::kZeroBubble;
  });
  ASSERT_NE(cut, search.ranking.end());
  EXPECT_THAT(why_behind(*cut, search.ranking.front()), HasSubstr("bubble"));
}

TEST(PredictStages, WinWhereNothingElseFits) {
  Cluster cluster = sample_cluster(1, 2);
  const auto probe = sample_planner(4, cluster);
  const std::int64_t cut =
      StagePlanner(probe->input()).predict(sample_stages(2)).memory.needed_bytes();
  const std::int64_t whole =
      predict(probe->input(), sample_whole(2, Overlap::kAcross, TransportKind::kMpi))
          .memory.needed_bytes();
  ASSERT_LT(cut, whole);
  cluster.nodes[0].memory_bytes = (cut + whole) / 2;
  const auto planner = sample_planner(4, cluster);
  const Search search = search_layouts(planner->input(), {.rows = 20, .shapes = Shapes::kAll});
  EXPECT_TRUE(search.ranking.front().fits);
  EXPECT_FALSE(search.ranking.front().candidate.is_whole());
  cluster.nodes[0].memory_bytes = 1;
  const auto hopeless = sample_planner(2, cluster);
  const std::string text = plan_text(search_layouts(hopeless->input(), {.shapes = Shapes::kAll}),
                                     hopeless->input(), {"j"});
  EXPECT_THAT(text, HasSubstr("No layout fits"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("Run it")));
}

TEST(PredictStages, AreOfferedOnlyWhereBlocksMicrobatchesAndRulesAllowIt) {
  const auto planner = sample_planner(2, sample_cluster(1, 16));
  const StagePlanner stage_planner(planner->input());
  const StagePlanner::Candidates four = stage_planner.candidates(4);
  // Separate networks on 2 + 2 workers; two rows of two and one row of four, each as loop and as V.
  EXPECT_THAT(four.layouts, ::testing::SizeIs(5));
  EXPECT_TRUE(stage_planner.candidates(16).layouts.empty());
  const JobSpec job = sample_job(4, {"numerics.precision=fp16"});
  const Planner scaled(job, sample_profile(job), "p", sample_cluster(1, 2));
  EXPECT_TRUE(StagePlanner(scaled.input()).candidates(2).layouts.empty());
}

/// Makes the first block of both networks expensive: in a loop the first worker would have both.
Profile with_dear_beginnings(Profile profile) {
  for (BlockCost& block : profile.blocks) {
    const double factor = block.block == 0 ? 1.6 : 0.4;
    block.forward.seconds *= factor;
    block.input_gradient.seconds *= factor;
    block.weight_gradient.seconds *= factor;
  }
  return profile;
}

TEST(PredictStages, AVIsChosenWhereBothNetworksBeginDearlyAndIsWhatARunWouldDo) {
  const JobSpec job = sample_job(16);
  const Profile profile = with_dear_beginnings(sample_profile(job));
  Cluster cluster = sample_cluster(1, 2);
  const auto probe = std::make_unique<Planner>(job, profile, "p", cluster);
  Candidate v = sample_stages(2);
  v.choice.placement = StagePlacement::kV;
  // Data parallelism is faster here, but does not fit into memory.
  cluster.nodes[0].memory_bytes =
      StagePlanner(probe->input()).predict(sample_stages(2)).memory.needed_bytes() + 100'000;
  ASSERT_LT(cluster.nodes[0].memory_bytes,
            predict(probe->input(), sample_whole(2)).memory.needed_bytes());
  const Planner planner(job, profile, "p", cluster);
  const Search search =
      search_layouts(planner.input(), {.rows = 20, .workers = 2, .shapes = Shapes::kAll});
  const Candidate first = search.ranking.front().candidate;
  EXPECT_EQ(first.choice.placement, StagePlacement::kV);
  EXPECT_THAT(describe(first), HasSubstr(", v"));
  EXPECT_LT(search.ranking.front().step_seconds,
            0.95 * StagePlanner(planner.input()).predict(sample_stages(2)).step_seconds);
  const std::vector<std::string> keys = changed_keys(job, with_layout(job, first));
  EXPECT_THAT(keys, ::testing::Contains("layout.placement=v"));
  const Layout of_a_run = resolve_layout(sample_job(16, keys), 2);
  const StagedJob planned = staged_job(job, planner.input().costs.phases(), first);
  for (const NetworkId network : of_a_run.ids()) {
    EXPECT_EQ(of_a_run[network], planned.layout[network]);
  }
  const std::string text = schedule_texts(planner.input(), first).front();
  EXPECT_THAT(text, HasSubstr("generator chunk 0 of 2"));
  EXPECT_THAT(text, HasSubstr("discriminator chunk 1 of 2"));
}

TEST(PredictStages, OrdersThatHoldLessAreTakenWhereNothingElseFits) {
  const auto probe = sample_planner(16, sample_cluster(1, 2));
  const StagePlanner stage_planner(probe->input());
  Candidate small = sample_stages(2);
  small.choice.schedule = StageOrder::kOneForwardOneBackward;
  const std::int64_t needed = stage_planner.predict(small).memory.needed_bytes();
  ASSERT_LT(needed, stage_planner.predict(sample_stages(2)).memory.needed_bytes());
  Cluster cluster = sample_cluster(1, 2);
  cluster.nodes[0].memory_bytes = needed;
  const auto planner = sample_planner(16, cluster);
  const Search search =
      search_layouts(planner->input(), {.rows = 4, .workers = 2, .shapes = Shapes::kAll});
  const Prediction& first = search.ranking.front();
  EXPECT_TRUE(first.fits);
  EXPECT_EQ(first.candidate.choice.schedule, StageOrder::kOneForwardOneBackward);
  EXPECT_FALSE(first.candidate.choice.recompute);
  EXPECT_THAT(run_arguments(first.candidate, planner->input().job),
              HasSubstr("layout.schedule=1f1b"));
}

TEST(PlanText, SaysWhereStagesNeedMoreMemoryThanWholeNetworks) {
  const JobSpec job = sample_job(16);
  Profile profile = sample_profile(job);
  profile.memory.working_bytes = 20'000'000;
  for (BlockCost& block : profile.blocks) {
    block.kept_bytes = 1'000'000;
  }
  const Planner planner(job, profile, "p", sample_cluster(1, 2));
  const StagePlanner stage_planner(planner.input());
  Candidate layout = sample_stages(2);
  const auto text_of = [&] {
    Search search;
    search.ranking.push_back(stage_planner.predict(layout));
    return plan_text(search, planner.input(), {"j.yaml"});
  };
  EXPECT_THAT(text_of(), HasSubstr("lower layout.in_flight keeps fewer"));
  layout.choice.in_flight = 1;
  EXPECT_THAT(text_of(), Not(HasSubstr("lower layout.in_flight keeps fewer")));
  EXPECT_THAT(text_of(), HasSubstr("layout.in_flight=1"));
}

TEST(PredictStages, MakeAgainWhatAllMicrobatchesTogetherCannotKeep) {
  Candidate again = sample_stages(2);
  again.choice.recompute = true;
  const Prediction kept = staged(16, sample_cluster(1, 2), sample_stages(2));
  const Prediction made = staged(16, sample_cluster(1, 2), again);
  // Four of nine passes are forwards with a backward, and are computed twice.
  EXPECT_GT(made.parts.compute, 1.2 * kept.parts.compute);
  EXPECT_GT(made.step_seconds, 1.1 * kept.step_seconds);
  EXPECT_LT(made.memory.working_bytes, kept.memory.working_bytes);
  // More micro-batches mean more tensors across the cut.
  EXPECT_GT(staged(32, sample_cluster(1, 2), again).memory.working_bytes,
            made.memory.working_bytes);
}

TEST(PredictStages, ActivationsAreMadeAgainWhereNothingElseFitsAndThePlanSaysWhy) {
  const JobSpec job = sample_job(16);
  Profile profile = sample_profile(job);
  profile.memory.working_bytes = 20'000'000;
  for (BlockCost& block : profile.blocks) {  // large activations, small tensors across a cut
    block.kept_bytes = 1'000'000;
    block.output_bytes = 10;
  }
  Cluster cluster = sample_cluster(1, 2);
  const Planner probe(job, profile, "p", cluster);
  Candidate again = sample_stages(2);
  again.choice.recompute = true;
  again.choice.schedule = StageOrder::kOneForwardOneBackward;
  cluster.nodes[0].memory_bytes = StagePlanner(probe.input()).predict(again).memory.needed_bytes();
  const Planner planner(job, profile, "p", cluster);
  const Search search =
      search_layouts(planner.input(), {.rows = 4, .workers = 2, .shapes = Shapes::kAll});
  const Prediction& first = search.ranking.front();
  EXPECT_TRUE(first.fits);
  EXPECT_TRUE(first.candidate.choice.recompute);
  EXPECT_GT(first.kept_memory_bytes, first.memory_limit);
  const std::string text = plan_text(search, planner.input(), {"j.yaml"});
  EXPECT_THAT(text, HasSubstr("layout.recompute=true"));
  EXPECT_THAT(text, HasSubstr("a worker without it would need"));
}

TEST(PredictStages, NoScheduleIsFasterThanItsBound) {
  const auto planner = sample_planner(8, sample_cluster(2, 2));
  const StagePlanner stage_planner(planner->input());
  for (const int workers : {2, 3, 4}) {
    for (const Candidate& layout : stage_planner.candidates(workers).layouts) {
      EXPECT_LE(stage_planner.least_seconds(layout),
                stage_planner.predict(layout).step_seconds * (1 + 1e-9))
          << describe(layout);
    }
  }
}

TEST(PredictStages, ASearchOf4096DevicesTakesLessThanASecond) {
  Cluster cluster = sample_cluster(512, 8);
  cluster.between.bytes_per_second = 1e7;
  const auto planner = sample_planner(4096, cluster);
  const auto begin = std::chrono::steady_clock::now();
  const Search search = search_layouts(planner->input(), {.rows = 10, .shapes = Shapes::kAll});
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  RecordProperty("seconds", std::to_string(taken.count()));
  EXPECT_EQ(search.ranking.size(), 10U);
  EXPECT_GT(search.left_out, 0U);
}

}  // namespace
}  // namespace gangway::plan
