// SPDX-License-Identifier: MIT
#include "plan/ranking/search.hpp"

#include <array>
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "job/file/parse.hpp"
#include "plan/ranking/make_plan.hpp"
#include "plan/ranking/plan_text.hpp"
#include "tests/plan/sample_plan.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::plan {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST(Search, RanksAllDevicesFirstWhereLinksCostNothing) {
  const auto planner = sample_planner(8, sample_cluster(1, 8));
  const Search search = search_layouts(planner->input(), {.rows = 10});
  ASSERT_FALSE(search.ranking.empty());
  EXPECT_EQ(search.ranking.front().candidate.workers, 8);
  for (std::size_t i = 1; i < search.ranking.size(); ++i) {
    EXPECT_GE(search.ranking[i].step_seconds, search.ranking[i - 1].step_seconds);
  }
}

TEST(Search, PredictsTheMemoryOfAJobThatIsLaidOutAsRanked) {
  const auto planner = sample_planner(4, sample_cluster(1, 4));
  const JobSpec& job = planner->input().job;
  Profile profile = planner->input().profile;
  profile.cores = 4;
  const testing::ScratchFolder folder;
  const std::filesystem::path file = folder.write("sample.profile.json", to_json(profile));
  const Planner read(job, read_profile(file), file.string(), profiled_host(profile));
  const Search search = search_layouts(read.input(), {.rows = 40, .shapes = Shapes::kAll});
  std::array<bool, 2> seen{};
  for (const Prediction& one : search.ranking) {
    seen[one.candidate.is_whole() ? 0 : 1] = true;
    EXPECT_EQ(planned_memory(with_layout(job, one.candidate), file, one.candidate.workers),
              one.memory)
        << describe(one.candidate);
  }
  EXPECT_EQ(seen, (std::array{true, true}));
  EXPECT_TRUE(planned_memory(sample_job(4, {"layout.stages=2"}), file, 2)) << "cuts are open";
  EXPECT_FALSE(planned_memory(job, file, 5)) << "more workers than devices";
  EXPECT_FALSE(planned_memory(sample_job(4, {"model.width=32"}), file, 1)) << "of another job";
  EXPECT_FALSE(planned_memory(job, folder.path() / "none", 1));
}

TEST(Search, StaysOnOneHostWhereTheLinkIsTooSlow) {
  Cluster cluster = sample_cluster(2, 2);
  cluster.between.bytes_per_second = 1e4;
  const auto planner = sample_planner(4, cluster);
  const Search search = search_layouts(planner->input(), {.rows = 10});
  EXPECT_EQ(search.ranking.front().candidate.workers, 2);
  const auto four = std::ranges::find_if(
      search.ranking, [](const Prediction& one) { return one.candidate.workers == 4; });
  if (four != search.ranking.end()) {
    EXPECT_THAT(why_behind(*four, search.ranking.front()), HasSubstr("wire"));
  }
}

TEST(Search, LeavesOutSlowDevicesThatOnlyHoldOthersUp) {
  Cluster cluster = sample_cluster(2, 2);
  cluster.nodes[0].speeds = {0.1, 0.1};
  const auto planner = sample_planner(4, cluster);
  const Search search = search_layouts(planner->input(), {.rows = 10});
  EXPECT_EQ(search.ranking.front().candidate.workers, 2);
  EXPECT_EQ(places_of(search.ranking.front().candidate, cluster, 4).front().node, 1);
}

TEST(Search, PutsWhatFitsFirst) {
  Cluster cluster = sample_cluster(1, 2);
  const auto probe = sample_planner(2, cluster);
  const auto needs = [&](int workers) {
    return predict(probe->input(), sample_whole(workers)).memory.needed_bytes();
  };
  cluster.nodes[0].memory_bytes = (needs(1) + needs(2)) / 2;
  const auto planner = sample_planner(2, cluster);
  const Search search = search_layouts(planner->input(), {.rows = 10});
  const Prediction& first = search.ranking.front();
  EXPECT_TRUE(first.fits);
  EXPECT_EQ(first.candidate.workers, needs(1) < needs(2) ? 1 : 2);
  EXPECT_THAT(why_behind(search.ranking.back(), first), HasSubstr("does not fit"));
}

TEST(Search, RefusesMoreWorkersThanThereCanBe) {
  const auto planner = sample_planner(4, sample_cluster(1, 8));
  EXPECT_THROW((void)search_layouts(planner->input(), {.rows = 10, .workers = 9}), ConfigError);
  EXPECT_THROW((void)search_layouts(planner->input(), {.rows = 10, .workers = 5}), ConfigError);
  EXPECT_EQ(search_layouts(planner->input(), {.rows = 10, .workers = 3})
                .ranking.front()
                .candidate.workers,
            3);
}

TEST(Search, PruningChangesNoRankingOfTheFirst) {
  Cluster cluster = sample_cluster(4, 4);
  cluster.between.bytes_per_second = 1e7;
  const auto planner = sample_planner(24, cluster);
  const Search few = search_layouts(planner->input(), {.rows = 3});
  const Search all = search_layouts(planner->input(), {.rows = 1000});
  EXPECT_GT(few.pruned, 0U);
  EXPECT_EQ(all.pruned, 0U);
  for (std::size_t i = 0; i < few.ranking.size(); ++i) {
    EXPECT_EQ(few.ranking[i].candidate, all.ranking[i].candidate) << i;
  }
}

TEST(Search, TakesLessThanASecondFor4096Devices) {
  Cluster cluster = sample_cluster(512, 8);
  cluster.between.bytes_per_second = 1e9;
  const auto planner = sample_planner(4096, cluster);
  const auto begin = std::chrono::steady_clock::now();
  const Search search = search_layouts(planner->input(), {.rows = 10});
  RecordProperty("seconds", std::to_string(seconds_since(begin)));
  EXPECT_EQ(search.ranking.size(), 10U);
}

TEST(Search, Plans16384DevicesAndAnAsymmetricStepOf4096) {
  const auto large = sample_planner(16384, sample_cluster(2048, 8));
  EXPECT_FALSE(search_layouts(large->input(), {.rows = 10}).ranking.empty());
  Cluster uneven = sample_cluster(512, 8);
  for (std::size_t i = 0; i < uneven.nodes.size(); ++i) {
    for (std::size_t device = 0; device < uneven.nodes[i].speeds.size(); ++device) {
      uneven.nodes[i].speeds[device] = 1.0 + 1e-4 * static_cast<double>(8 * i + device);
    }
  }
  const auto planner = sample_planner(4096, uneven);
  const auto begin = std::chrono::steady_clock::now();
  const Prediction step = predict(planner->input(), sample_whole(4096));
  RecordProperty("seconds", std::to_string(seconds_since(begin)));
  EXPECT_GT(step.step_seconds, 0.0);
}

TEST(Search, SaysOfWholeNetworksThatTheyHoldAsMuchWhereActivationsAreMadeAgain) {
  const auto planner = sample_planner(2, sample_cluster(1, 1));
  const Prediction kept = predict(planner->input(), sample_whole(1));
  Candidate again = sample_whole(1);
  again.choice.recompute = true;
  const Prediction made = predict(planner->input(), again);
  EXPECT_EQ(kept.memory, made.memory);
  // Forwards that have a backward: of the discriminator's three and of one of the generator's.
  EXPECT_NEAR(made.step_seconds - kept.step_seconds, 2 * 4 * 0.001, 1e-9);
}

TEST(RunArguments, TakeBackWhatTheJobSaysOfAnotherLayout) {
  const JobSpec job =
      sample_job(4, {"layout.stages=2", "layout.cuts.generator=[1]", "layout.recompute=true"});
  const std::vector<std::string> keys =
      changed_keys(job, with_layout(job, whole_candidate(job, 2)));
  const JobSpec told = sample_job(4, [&] {
    std::vector<std::string> all{"layout.stages=2", "layout.cuts.generator=[1]",
                                 "layout.recompute=true"};
    all.insert(all.end(), keys.begin(), keys.end());
    return all;
  }());
  EXPECT_EQ(told.layout.stages, 1);
  EXPECT_FALSE(told.layout.networks[NetworkId{0}].cuts.has_value());
  EXPECT_FALSE(told.layout.recompute);
}

TEST(RunArguments, SayNothingThatTheJobSays) {
  const JobSpec job = sample_job(4, {"layout.transport=mpi", "layout.overlap=none"});
  EXPECT_EQ(run_arguments(whole_candidate(job, 2, Overlap::kNone, TransportKind::kMpi), job),
            "-n 2");
  EXPECT_EQ(run_arguments(whole_candidate(job, 2), job),
            "-n 2 layout.transport=shm layout.overlap=across");
  EXPECT_EQ(run_arguments(sample_apart(), sample_job(1)),
            "-n 2 layout.transport=shm layout.generator=[1] layout.discriminator=[2]");
}

TEST(RunArguments, NameATransportThatThereIsBetweenTheWorkers) {
  const Candidate candidate = whole_candidate(sample_job(4), 4);
  const auto transport = [&](const JobSpec& job, int nodes, int devices) {
    return runnable(candidate, job, sample_cluster(nodes, devices)).choice.transport;
  };
  EXPECT_EQ(transport(sample_job(4), 1, 4), TransportKind::kShm);
  EXPECT_EQ(transport(sample_job(4), 2, 2), TransportKind::kHierarchical);
  EXPECT_EQ(transport(sample_job(4, {"numerics.device=cuda"}), 1, 4), TransportKind::kAuto);
  Candidate direct = candidate;
  direct.choice.transport = TransportKind::kMpi;
  EXPECT_EQ(runnable(direct, sample_job(4, {"numerics.device=cuda"}), sample_cluster(2, 2))
                .choice.transport,
            TransportKind::kNccl);
}

TEST(PlanText, RepeatsWhatWasTypedAndNamesTheHosts) {
  const auto planner = sample_planner(4, sample_cluster(2, 1));
  const std::string text =
      plan_text(search_layouts(planner->input(), {.rows = 1, .workers = 2}), planner->input(),
                {.file = "my job.yaml",
                 .overrides = {"training.kimg=3", "data.source=toy:ring8"},
                 .program = "build/my bin/gangway"});
  EXPECT_THAT(text, HasSubstr("in this order: node-0 slots=1, node-1 slots=1\n"));
  EXPECT_THAT(
      text, HasSubstr("Run it: 'build/my bin/gangway' run 'my job.yaml' -n 2 "
                      "--hostfile hosts training.kimg=3 data.source=toy:ring8 layout.transport="));
}

TEST(PlanText, SaysWhyDevicesAreLeftOver) {
  const auto text_on = [](int microbatches, int devices) {
    const auto planner = sample_planner(microbatches, sample_cluster(1, devices));
    return plan_text(search_layouts(planner->input(), {.rows = 1}), planner->input(), {"j.yaml"});
  };
  EXPECT_THAT(text_on(2, 8), HasSubstr("6 of 8 devices are idle: the job has 2 micro-batches. "
                                       "Workers share"));
  EXPECT_THAT(text_on(8, 8), ::testing::Not(HasSubstr("are idle")));
}

TEST(PlanText, CallsAGuessWhatNobodyHasMeasured) {
  const auto text_on = [](const Cluster& cluster) {
    const auto planner = sample_planner(4, cluster);
    return plan_text(search_layouts(planner->input(), {.rows = 1}), planner->input(), {"j.yaml"});
  };
  const std::string guessed = text_on(parse_cluster("nodes:\n  - {name: h100, speed: 400}\n", "c"));
  EXPECT_THAT(guessed, HasSubstr("step ms, guess"));
  EXPECT_THAT(guessed,
              HasSubstr("\nguess: costs of sample (none), divided by the speed that c gives "
                        "for h100, and 4.5 us a kernel at least; this job has no measurement"));
  EXPECT_THAT(guessed, HasSubstr("run it with numerics.device=cuda"));
  EXPECT_THAT(text_on(sample_cluster(1, 1)), ::testing::Not(HasSubstr("guess")));
}

TEST(PlanText, SaysWhatToRunAndWhatTheStepGoesTo) {
  const auto planner = sample_planner(4, sample_cluster(1, 2));
  const std::string text =
      plan_text(search_layouts(planner->input(), {.rows = 4}), planner->input(), {"j.yaml"});
  EXPECT_THAT(text, HasSubstr("Run it: gangway run j.yaml -n 2 layout.transport=shm"));
  EXPECT_THAT(text, ContainsRegex("A step of the first: compute [0-9.]+ %"));
  EXPECT_THAT(text, HasSubstr("waits for sums and updates +"));
  const std::string json =
      plan_json(search_layouts(planner->input(), {.rows = 4}), planner->input(), {"j.yaml"});
  EXPECT_THAT(json, HasSubstr("\"workers\": 2"));
}

}  // namespace
}  // namespace gangway::plan
