// SPDX-License-Identifier: MIT
#include "coordinator/core/tick_accounting.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "run/messages/step_parts.hpp"

namespace gangway::coordinator {
namespace {

using std::chrono::milliseconds;

const TimePoint kFirst{};

TickPlan plan(int workers) {
  return {.num_workers = workers,
          .microbatches = 4,
          .networks = {"generator", "discriminator"},
          .images_per_step = 100,
          .total_steps = 5,
          .tick_steps = 2,
          .first_index = 1};
}

/// The micro-batches [begin, end) of one step; losses that do not add up exactly in any order.
messages::Progress progress(int rank, std::int64_t step, int begin, int end) {
  messages::Progress result{
      .step = step, .figures = {.exposed_seconds = 0.1 * rank}, .sent_bytes = 1U << 20U};
  for (int microbatch = begin; microbatch < end; ++microbatch) {
    const double loss = 1.0 / (3.0 + static_cast<double>(7 * microbatch + 11 * step));
    result.losses.push_back({.microbatch = microbatch, .by_network = {loss, 2.0 * loss}});
  }
  return result;
}

std::vector<report::Tick> run(int workers, bool reversed) {
  TickAccounting accounting(plan(workers));
  accounting.start(kFirst);
  std::vector<report::Tick> ticks;
  for (std::int64_t step = 1; step <= 5; ++step) {
    for (int index = 0; index < workers; ++index) {
      const int rank = reversed ? workers - index : index + 1;
      const int size = 4 / workers;
      if (auto tick =
              accounting.add(Rank(rank), progress(rank, step, (rank - 1) * size, rank * size),
                             kFirst + milliseconds(500 * step), 1.0)) {
        ticks.push_back(*tick);
      }
    }
  }
  return ticks;
}

TEST(TickAccounting, GivesTheSameBitsForEveryLayoutAndOrderOfArrival) {
  const auto one = run(1, false);
  for (const auto& other : {run(2, false), run(2, true), run(4, true)}) {
    ASSERT_EQ(other.size(), one.size());
    for (std::size_t index = 0; index < one.size(); ++index) {
      EXPECT_EQ(other[index].losses, one[index].losses);
    }
  }
}

TEST(TickAccounting, AddsUpWhatWorkersOfDifferentNetworksTellOfAMicrobatch) {
  const auto losses_of = [](bool reversed) {
    TickPlan apart = plan(2);
    apart.are_apart = true;
    apart.tick_steps = 1;
    TickAccounting accounting(apart);
    accounting.start(kFirst);
    std::optional<report::Tick> tick;
    for (const int rank : reversed ? std::vector{2, 1} : std::vector{1, 2}) {
      messages::Progress one = progress(rank, 1, 0, 4);
      for (messages::MicrobatchLoss& loss : one.losses) {
        loss.by_network[rank == 1 ? 1 : 0] = 0.0;  // each has one of the two networks
      }
      tick = accounting.add(Rank(rank), one, kFirst + milliseconds(500), 1.0);
    }
    return tick->losses;
  };
  TickAccounting whole(plan(1));
  whole.start(kFirst);
  (void)whole.add(Rank(1), progress(1, 1, 0, 4), kFirst + milliseconds(500), 1.0);
  for (const bool reversed : {false, true}) {
    const auto losses = losses_of(reversed);
    for (std::size_t network = 0; network < 2; ++network) {
      EXPECT_EQ(losses[network].loss, whole.last_losses()[network]);
    }
  }
}

TEST(TickAccounting, MakesATickAtEveryIntervalAndAtTheEnd) {
  const auto ticks = run(2, false);
  ASSERT_EQ(ticks.size(), 3U);
  EXPECT_EQ(ticks[0].step, 2);
  EXPECT_EQ(ticks[1].step, 4);
  EXPECT_EQ(ticks[2].step, 5);
  EXPECT_EQ(ticks[2].index, 3);
  EXPECT_DOUBLE_EQ(ticks[1].kimg, 0.4);
  EXPECT_DOUBLE_EQ(ticks[1].seconds_tick, 1.0);
  EXPECT_DOUBLE_EQ(ticks[1].seconds_total, 2.0);
  EXPECT_DOUBLE_EQ(ticks[1].images_per_second, 200.0);
  EXPECT_DOUBLE_EQ(ticks[1].exposed_percent, 40.0) << "of the worst worker";
  EXPECT_DOUBLE_EQ(ticks[1].sent_mib_per_step, 2.0);
  EXPECT_DOUBLE_EQ(ticks[1].checkpoint_age_kimg, 0.4);
}

TEST(TickAccounting, TellsByPhaseAndBucketWhatTheWorstWorkerWaitedFor) {
  TickAccounting accounting(plan(2));
  accounting.start(kFirst);
  std::optional<report::Tick> tick;
  for (const std::int64_t step : {1, 2}) {
    for (const int rank : {1, 2}) {
      messages::Progress one = progress(rank, step, 2 * rank - 2, 2 * rank);
      one.unfired = static_cast<std::uint64_t>(rank);
      one.figures.parts.resize(messages::num_step_parts(2));
      one.figures.parts[messages::index_of(messages::StepPart::kChecks)] = 0.01 * rank;
      one.figures.parts[messages::index_of(messages::StepPart::kOther)] = 0.5 - 0.01 * rank;
      one.exposures = {{.phase = 0,
                        .name = "discriminator",
                        .seconds = 0.075 * rank,
                        .by_bucket = {0.05 * rank, 0.025 * rank}}};
      if (step == 2) {  // not every phase is awaited in every step
        one.exposures.push_back({.phase = 1,
                                 .name = "generator",
                                 .seconds = 0.05 * rank,
                                 .by_bucket = {0.05 * rank},
                                 .agrees = true});
      }
      tick = accounting.add(Rank(rank), one, kFirst + milliseconds(500 * step), 1.0);
    }
  }
  ASSERT_TRUE(tick);
  EXPECT_EQ(tick->unfired, 2);
  EXPECT_DOUBLE_EQ(tick->check_percent, 4.0);
  ASSERT_EQ(tick->exposed.size(), 2U);
  const report::ExposedPhase& first = tick->exposed.front();
  EXPECT_EQ(first.phase, "discriminator");
  EXPECT_DOUBLE_EQ(first.seconds_per_step, 0.15);
  EXPECT_DOUBLE_EQ(first.percent, 30.0);
  EXPECT_EQ(first.by_bucket, (std::vector<double>{0.1, 0.05}));
  EXPECT_FALSE(first.agrees);
  EXPECT_DOUBLE_EQ(tick->exposed.back().seconds_per_step, 0.05);
  EXPECT_TRUE(tick->exposed.back().agrees);
  EXPECT_DOUBLE_EQ(first.percent + tick->exposed.back().percent, tick->exposed_percent)
      << "the phases are the whole";
}

TEST(TickAccounting, TellsWhereTheStepsOfTheWorkerWentWhomTheOthersAwait) {
  using messages::StepPart;
  TickAccounting accounting(plan(2));
  accounting.start(kFirst);
  accounting.forgive(milliseconds(300));  // a pause, for which both wait for a lease
  std::optional<report::Tick> tick;
  for (const std::int64_t step : {1, 2}) {
    for (const int rank : {1, 2}) {
      messages::Progress one = progress(rank, step, 2 * rank - 2, 2 * rank);
      std::vector<double>& parts = one.figures.parts;
      parts.resize(messages::num_step_parts(2));
      parts[messages::index_of(StepPart::kCoordinator)] = step == 1 ? 0.31 : 0.0;
      parts[messages::index_of(StepPart::kWorkers)] = rank == 1 ? 0.2 : 0.0;
      parts[messages::index_of(messages::NetworkPart::kBackward, 1)] = 0.3;
      parts[messages::index_of(StepPart::kData)] = rank == 1 ? 0.0 : 0.2;
      one.figures.core_seconds = 0.15;
      one.figures.other_core_seconds = 0.101;
      one.figures.preemptions = 3;
      tick = accounting.add(Rank(rank), one, kFirst + milliseconds(500 * step), 1.0);
    }
  }
  ASSERT_TRUE(tick);
  ASSERT_EQ(tick->parts.size(), 2U);
  const report::WorkerParts& slowest = *tick->slowest();
  EXPECT_EQ(slowest.rank, Rank(2));
  const auto part = [&](const std::string& name) {
    const auto found = std::ranges::find(tick->part_names, name);
    return slowest.seconds.at(static_cast<std::size_t>(found - tick->part_names.begin()));
  };
  EXPECT_DOUBLE_EQ(part("discriminator_backward"), 0.3);
  EXPECT_DOUBLE_EQ(part("data"), 0.2) << "who waits for data is awaited by the others";
  EXPECT_NEAR(part("coordinator"), 0.005, 1e-9) << "the pause belongs to no step";
  EXPECT_NEAR(slowest.step_seconds(), 0.505, 1e-9);
  EXPECT_NEAR(slowest.core_share, 0.5, 1e-9) << "of what it did not wait";
  EXPECT_DOUBLE_EQ(slowest.preemptions_per_step, 3.0);
  EXPECT_NEAR(slowest.other_cores, 0.2, 1e-9);
  EXPECT_NEAR(tick->host_wait_percent, 100.0 * 0.4 / 1.01, 1e-9) << "of the worst worker";
}

TEST(TickAccounting, TellsWhatTheDeviceDidInTheStepsThatItWasLookedAtIn) {
  TickAccounting accounting(plan(1));
  accounting.start(kFirst);
  std::optional<report::Tick> tick;
  for (const std::int64_t step : {1, 2}) {
    messages::Progress one = progress(1, step, 0, 4);
    one.figures.parts.assign(messages::num_step_parts(2), 0.01);
    if (step == 2) {
      one.figures.device_parts.resize(messages::num_step_parts(2));
      one.figures.device_parts[messages::index_of(messages::NetworkPart::kBackward, 1)] = 0.3;
      one.figures.device_steps = 1;
      one.figures.device_marks = 8;
      one.figures.device_starved = 2;
    }
    tick = accounting.add(Rank(1), one, kFirst + milliseconds(500 * step), 1.0);
  }
  ASSERT_TRUE(tick);
  const auto told = nlohmann::json::parse(report::tick_json(*tick));
  EXPECT_EQ(told["device_parts"], (nlohmann::json{{"discriminator_backward", 0.3}}))
      << "of one step, not of two";
  EXPECT_EQ(told["device_starved_percent"], 25.0);
  EXPECT_NE(report::tick_line(*tick).find(" device D 100%"), std::string::npos);
}

TEST(TickAccounting, TellsFiguresOfUpdatesAndMicrobatchesOnceATick) {
  TickAccounting accounting(plan(2));
  accounting.start(kFirst);
  std::vector<report::Tick> ticks;
  for (std::int64_t step = 1; step <= 4; ++step) {
    for (const int rank : {1, 2}) {
      messages::Progress one = progress(rank, step, 2 * rank - 2, 2 * rank);
      for (messages::MicrobatchLoss& loss : one.losses) {
        loss.figures = {{"accuracy", static_cast<double>(step + loss.microbatch)}};
      }
      if (step == 2) {  // told with the last step of the first tick alone
        one.updates = {{.network = 1,
                        .update = 1,
                        .lr = 0.5,
                        .squares = messages::UpdateSquares{
                            .gradient = 4.5 * rank - 2.25, .change = 0.0, .weights = 1.0}}};
      }
      if (auto tick = accounting.add(Rank(rank), one, kFirst + milliseconds(500 * step), 1.0)) {
        ticks.push_back(*tick);
      }
    }
  }
  ASSERT_EQ(ticks.size(), 2U);
  ASSERT_EQ(ticks[0].updates.size(), 1U);
  EXPECT_EQ(ticks[0].updates[0].network, "discriminator");
  EXPECT_EQ(ticks[0].updates[0].norms->gradient, 3.0);
  EXPECT_TRUE(ticks[1].updates.empty());
  EXPECT_EQ(ticks[0].figures, (std::vector<report::TickFigure>{{"accuracy", 3.0}}));
  EXPECT_EQ(ticks[1].figures, (std::vector<report::TickFigure>{{"accuracy", 5.0}}));
}

TEST(TickAccounting, TellsTheMemoryOfAllAndTheNarrowestLimit) {
  constexpr std::uint64_t kGib = 1U << 30U;
  TickAccounting accounting(plan(2));
  accounting.start(kFirst);
  std::optional<report::Tick> tick;
  for (std::int64_t step = 1; step <= 4; ++step) {
    for (int rank = 1; rank <= 2; ++rank) {
      messages::Progress one = progress(rank, step, 2 * rank - 2, 2 * rank);
      const auto count = static_cast<std::uint64_t>(step);
      one.memory = {.resident_bytes = 2 * kGib,
                    .allocated_bytes = kGib,
                    .reserved_bytes = kGib + kGib / 2,
                    .peak_bytes = rank == 1 ? 3 * kGib : 2 * kGib,
                    .retries = rank == 2 ? count : 0,
                    .used_bytes = rank == 1 ? 8 * kGib : 3 * kGib,
                    .limit_bytes = rank == 1 ? 16 * kGib : 4 * kGib,
                    .limit = rank == 1 ? "host" : "GPU"};
      one.figures.quota_periods = 10;
      one.figures.throttled_periods = rank == 1 ? 0 : 4;
      if (auto made = accounting.add(Rank(rank), one, kFirst, 1.0)) {
        tick = std::move(made);
      }
    }
  }
  ASSERT_TRUE(tick);
  EXPECT_DOUBLE_EQ(tick->memory.resident_gib, 4.0);
  EXPECT_DOUBLE_EQ(tick->memory.allocated_gib, 2.0);
  EXPECT_DOUBLE_EQ(tick->memory.reserved_gib, 3.0);
  EXPECT_DOUBLE_EQ(tick->memory.peak_gib, 3.0);
  EXPECT_EQ(tick->memory.retries, 2) << "those of earlier ticks do not count again";
  EXPECT_EQ(tick->memory.limit, "GPU");
  EXPECT_DOUBLE_EQ(tick->memory.used_gib, 3.0);
  EXPECT_DOUBLE_EQ(tick->throttled_percent, 40.0) << "of the worst worker";
}

TEST(TickAccounting, CountsOnFromAnEarlierRun) {
  TickPlan resumed = plan(1);
  resumed.start_step = 3;
  resumed.first_index = 8;
  resumed.earlier_seconds = 100.0;
  resumed.checkpoint_step = 3;
  TickAccounting accounting(resumed);
  accounting.start(kFirst);
  const auto tick = accounting.add(Rank(1), progress(1, 4, 0, 4), kFirst + milliseconds(250), 1.0);
  ASSERT_TRUE(tick);
  EXPECT_EQ(tick->index, 8);
  EXPECT_DOUBLE_EQ(tick->seconds_total, 100.25);
  EXPECT_DOUBLE_EQ(tick->images_per_second, 400.0);
  EXPECT_DOUBLE_EQ(tick->checkpoint_age_kimg, 0.1);
}

TEST(TickAccounting, LetsAFastWorkerBeAheadOfASlowOne) {
  TickAccounting accounting(plan(2));
  accounting.start(kFirst);
  EXPECT_FALSE(accounting.add(Rank(1), progress(1, 1, 0, 2), kFirst, 1.0));
  EXPECT_FALSE(accounting.add(Rank(1), progress(1, 2, 0, 2), kFirst, 1.0));
  EXPECT_EQ(accounting.steps_done(), 0);
  EXPECT_FALSE(accounting.add(Rank(2), progress(2, 1, 2, 4), kFirst, 1.0));
  EXPECT_TRUE(accounting.add(Rank(2), progress(2, 2, 2, 4), kFirst + milliseconds(10), 1.0));
}

TEST(TickAccounting, NamesStepNetworkAndMicrobatchOfALossThatIsNotFinite) {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    TickAccounting accounting(plan(1));
    messages::Progress diverged = progress(1, 1, 0, 4);
    diverged.losses[2].by_network[1] = bad;
    try {
      (void)accounting.add(Rank(1), diverged, kFirst, 1.0);
      FAIL() << "not noticed";
    } catch (const DivergedError& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("step 1"), std::string::npos);
      EXPECT_NE(message.find("discriminator's loss of micro-batch 2"), std::string::npos);
    }
  }
}

TEST(TickAccounting, RefusesMicrobatchesThatDoNotAddUp) {
  TickAccounting missing(plan(1));
  EXPECT_THROW((void)missing.add(Rank(1), progress(1, 1, 0, 3), kFirst, 1.0), InvariantError);
  TickAccounting twice(plan(2));
  EXPECT_FALSE(twice.add(Rank(1), progress(1, 1, 0, 3), kFirst, 1.0));
  EXPECT_THROW((void)twice.add(Rank(2), progress(2, 1, 2, 4), kFirst, 1.0), InvariantError);
  TickAccounting skipped(plan(1));
  EXPECT_THROW((void)skipped.add(Rank(1), progress(1, 2, 0, 4), kFirst, 1.0), InvariantError);
  TickAccounting again(plan(1));
  EXPECT_FALSE(again.add(Rank(1), progress(1, 1, 0, 4), kFirst, 1.0));
  EXPECT_THROW((void)again.add(Rank(1), progress(1, 1, 0, 4), kFirst, 1.0), InvariantError);
}

TEST(TickAccounting, KnowsTheMedianStep) {
  TickAccounting accounting(plan(1));
  EXPECT_EQ(accounting.median_step_seconds(), 0.0);
  accounting.start(kFirst);
  (void)accounting.add(Rank(1), progress(1, 1, 0, 4), kFirst + milliseconds(100), 1.0);
  (void)accounting.add(Rank(1), progress(1, 2, 0, 4), kFirst + milliseconds(5100), 1.0);
  (void)accounting.add(Rank(1), progress(1, 3, 0, 4), kFirst + milliseconds(5300), 1.0);
  EXPECT_NEAR(accounting.median_step_seconds(), 0.2, 1e-9);
}

TEST(TickAccounting, TellsWhatSnapshotsCostTheSlowestWorkerOnceEach) {
  TickAccounting accounting(plan(2));
  accounting.start(kFirst);
  std::vector<report::Tick> ticks;
  for (std::int64_t step = 1; step <= 4; ++step) {
    for (const int rank : {1, 2}) {
      messages::Progress one = progress(rank, step, 2 * rank - 2, 2 * rank);
      // Of the steps 1 and 2; later steps name the newest again.
      one.snapshot = std::min<std::int64_t>(step, 2);
      one.snapshot_seconds = 0.01 * rank;
      one.snapshot_wait_seconds = 0.001 * rank;
      one.snapshot_bytes = 1U << 20U;
      if (auto tick = accounting.add(Rank(rank), one, kFirst + milliseconds(500 * step), 1.0)) {
        ticks.push_back(*tick);
      }
    }
  }
  ASSERT_EQ(ticks.size(), 2U);
  EXPECT_EQ(ticks[0].snapshots, 2);
  EXPECT_DOUBLE_EQ(ticks[0].snapshot_seconds, 0.04);
  EXPECT_DOUBLE_EQ(ticks[0].snapshot_wait_seconds, 0.004);
  EXPECT_DOUBLE_EQ(ticks[0].snapshot_percent, 4.0) << "of the second that the tick took";
  EXPECT_DOUBLE_EQ(ticks[0].snapshot_mib, 4.0) << "of both workers";
  EXPECT_EQ(ticks[1].snapshots, 0);
  EXPECT_DOUBLE_EQ(ticks[1].snapshot_percent, 0.0);
  EXPECT_DOUBLE_EQ(ticks[1].snapshot_mib, 0.0);
}

TEST(TickAccounting, CountsNoSnapshotOfAnEarlierStart) {
  TickPlan resumed = plan(1);
  resumed.start_step = 2;
  resumed.total_steps = 3;
  TickAccounting accounting(resumed);
  accounting.start(kFirst);
  messages::Progress one = progress(1, 3, 0, 4);
  one.snapshot = 2;
  one.snapshot_seconds = 0.01;
  const auto tick = accounting.add(Rank(1), one, kFirst + milliseconds(500), 1.0);
  ASSERT_TRUE(tick);
  EXPECT_EQ(tick->snapshots, 0);
}

}  // namespace
}  // namespace gangway::coordinator
