// SPDX-License-Identifier: MIT
// The state with which RunCore begins, and its reaction if workers cannot load it.
#include <gmock/gmock.h>

#include "tests/coordinator/run_core_fixture.hpp"

namespace gangway::coordinator {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RunCoreStart : public RunCoreTest {
 protected:
  using RunCoreTest::RunCoreTest;
  void greet() {
    hello(1);
    hello(2);
  }
  /// Returns the Begin messages, which are equal for both workers.
  std::vector<messages::Begin> begins() const { return sent<messages::Begin>(1); }
  std::optional<WholeSnapshot> newest() const {
    const auto questions = seen<ChooseResumePoint>();
    return questions.empty() ? std::nullopt : questions.back().inventory.newest_after(-1);
  }
};

TEST_F(RunCoreStart, AsksForABeginningOnceAllHaveToldWhatTheyHold) {
  greet();
  inventory(1, {0});
  EXPECT_THAT(seen<ChooseResumePoint>(), IsEmpty());
  inventory(2, {1, 0});
  ASSERT_THAT(seen<ChooseResumePoint>(), SizeIs(1));
  ASSERT_TRUE(newest());
  EXPECT_EQ(newest()->id.step, 8);
  EXPECT_THAT(newest()->holders, ElementsAre(ElementsAre(WorkerIndex(0), WorkerIndex(1)),
                                             ElementsAre(WorkerIndex(1))));
}

TEST_F(RunCoreStart, KnowsNoSnapshotOfWhichAPartIsNowhere) {
  greet();
  inventory(1, {1});
  inventory(2, {1});
  EXPECT_FALSE(newest());
}

TEST_F(RunCoreStart, SendsTheBeginningToAllAndCountsFromIt) {
  begin();
  ASSERT_THAT(begins(), SizeIs(1));
  EXPECT_EQ(begins()[0].attempt, 1);
  EXPECT_EQ(seen<GrantLease>().front().lease.begin, 0);
}

TEST_F(RunCoreStart, SaysEveryTenSecondsWhatTheFirstTickWaitsFor) {
  RunCoreSettings slow = settings();
  slow.limits.start = seconds(100);
  core_ = RunCore(std::move(slow), TimePoint{});
  const auto line_after = [this](seconds later) {
    all_.clear();
    wait(later);
    const auto lines = seen<Say>();
    return lines.empty() ? "" : lines.back().line;
  };
  hello(1);
  EXPECT_EQ(line_after(seconds(9)), "");
  EXPECT_EQ(line_after(seconds(1)), "wait   for rank 2 to start: 0 of 2 workers ready after 10 s");
  hello(2);
  for (const int rank : {1, 2}) {
    keep(core_.on_lifeline_opened(Rank(rank), now_));
    inventory(rank);
  }
  keep(core_.begin_with({}));
  ready(1);
  ready(2);
  EXPECT_EQ(line_after(seconds(10)), "wait   for the first step: 2 of 2 workers ready after 20 s");
  step_to(0, 3);
  EXPECT_EQ(line_after(seconds(10)), "wait   for the first tick: 3 of 10 steps after 30 s");
  step_to(3, 10);
  EXPECT_EQ(line_after(seconds(30)), "");
}

TEST_F(RunCoreStart, EndsWhereAWorkerComputesOtherBitsThanTheOthers) {
  for (const int rank : {1, 2}) {
    hello(rank);
    keep(core_.on_lifeline_opened(Rank(rank), now_));
    inventory(rank);
  }
  keep(core_.begin_with({}));
  ready(1, {.bits = "1-aa"});
  ready(2, {.bits = "1-bb"});
  EXPECT_THAT(seen<GrantLease>(), IsEmpty());
  EXPECT_EQ(run_end().exit_code, static_cast<int>(ExitCode::kEnvironment));
  EXPECT_EQ(run_end().rank, Rank(2));
  EXPECT_THAT(run_end().reason, ::testing::HasSubstr("rank 2 on host node-a computes other bits"));
}

class RunCoreStartedAgain : public RunCoreStart {
 protected:
  RunCoreStartedAgain() : RunCoreStart(again()) {}

 private:
  static RunCoreSettings again() {
    RunCoreSettings changed = settings();
    changed.arithmetic_before.emplace().bits = "1-aa";
    return changed;
  }
};

TEST_F(RunCoreStartedAgain, LosesTheHostThatComputesOtherBitsThanTheStartBefore) {
  for (const int rank : {1, 2}) {
    hello(rank);
    keep(core_.on_lifeline_opened(Rank(rank), now_));
    inventory(rank);
  }
  keep(core_.begin_with({}));
  for (const int rank : {1, 2}) {
    ready(rank, {.bits = rank == 1 ? "1-bb" : "1-aa"});
  }
  EXPECT_THAT(seen<GrantLease>(), IsEmpty());
  EXPECT_EQ(run_end().exit_code, static_cast<int>(ExitCode::kWorkerLost));
  EXPECT_EQ(run_end().rank, Rank(1));
}

TEST_F(RunCoreStartedAgain, LosesTheHostThatLacksSomething) {
  greet();
  stop(2, ExitCode::kUsage, "no data");
  EXPECT_EQ(run_end().exit_code, static_cast<int>(ExitCode::kWorkerLost));
  EXPECT_EQ(run_end().rank, Rank(2));
}

TEST_F(RunCoreStart, HasSnapshotsCopiedWhereMemoryMayGoAndNoStartFollows) {
  const auto keeps = [this](std::optional<std::uint64_t> copied, bool goes_on, ExitCode code) {
    RunCoreSettings given = settings();
    given.copied_by_rank_0 = copied;
    given.welcome.goes_on = goes_on;
    core_ = RunCore(std::move(given), TimePoint{});
    all_.clear();
    greet();
    inventory(1, {0, 1});
    inventory(2);
    keep(core_.begin_with({.step = 8, .saved_step = 4, .snapshot = newest()}));
    for (const int rank : {1, 2}) {
      keep(core_.on_lifeline_opened(Rank(rank), now_));
      ready(rank);
    }
    keep(core_.cannot_begin(code, "for a reason"));
    EXPECT_EQ(sent<messages::Stop>(1).back().keep, run_end().keeps);
    return run_end().keeps;
  };
  EXPECT_FALSE(keeps(std::nullopt, false, ExitCode::kWorkerLost)) << "the memory stays";
  EXPECT_TRUE(keeps(1, false, ExitCode::kWorkerLost));
  EXPECT_FALSE(keeps(1, true, ExitCode::kWorkerLost)) << "it starts again";
  EXPECT_TRUE(keeps(1, true, ExitCode::kUsage));
}

TEST_F(RunCoreStart, SaysWhatWasLoadedOnceAllHaveIt) {
  greet();
  inventory(1, {0, 1});
  inventory(2);
  keep(core_.begin_with(
      {.step = 8, .saved_step = 4, .snapshot = newest(), .line = "resume snapshot of step 8"}));
  EXPECT_THAT(seen<Say>(), IsEmpty()) << "it is not loaded yet";
  ASSERT_THAT(begins(), SizeIs(1));
  EXPECT_EQ(begins()[0].step, 8);
  EXPECT_EQ(begins()[0].snapshot, newest());
  for (const int rank : {1, 2}) {
    keep(core_.on_lifeline_opened(Rank(rank), now_));
    ready(rank);
  }
  ASSERT_THAT(seen<Say>(), SizeIs(1));
  EXPECT_EQ(seen<Say>()[0].line, "resume snapshot of step 8");
  EXPECT_EQ(seen<GrantLease>().front().lease.begin, 8);
}

TEST_F(RunCoreStart, ProposesNoPartAgainThatIsDamagedOnAHost) {
  greet();
  inventory(1, {0});
  inventory(2, {1, 0});
  keep(core_.begin_with({.step = 8, .snapshot = newest()}));
  all_.clear();
  unloadable(1, 1, 0);
  ASSERT_THAT(seen<Say>(), SizeIs(1));
  EXPECT_THAT(seen<Say>()[0].line, HasSubstr("rank 1 (host node-a, pid 101): damaged"));
  EXPECT_THAT(seen<ChooseResumePoint>(), SizeIs(1));
  EXPECT_FALSE(newest()) << "both workers are on one host, and see one file";
  keep(core_.begin_with({}));
  unloadable(2, 1, 0);
  EXPECT_THAT(seen<ChooseResumePoint>(), SizeIs(1)) << "another was chosen already";
}

TEST_F(RunCoreStart, AsksForAnotherCheckpointWhereOneIsDamaged) {
  greet();
  inventory(1);
  inventory(2);
  keep(core_.begin_with({.step = 10, .saved_step = 10, .checkpoint = "/runs/a/step-000000010"}));
  all_.clear();
  unloadable(2, 1, std::nullopt);
  ASSERT_THAT(seen<ChooseResumePoint>(), SizeIs(1));
  EXPECT_EQ(seen<ChooseResumePoint>()[0].refused_checkpoint, "damaged");
  keep(core_.begin_with({.step = 5, .saved_step = 5, .checkpoint = "/runs/a/step-000000005"}));
  EXPECT_EQ(begins().back().attempt, 2);
}

TEST_F(RunCoreStart, ShowsHowFarALongLoadIsAndWaitsForIt) {
  greet();
  for (std::uint64_t second = 0; second < 30; ++second) {  // three times the start's deadline
    const messages::Loading loading{.bytes = second * 50'000'000, .total = 2'000'000'000};
    send(1, loading);
    send(2, loading);
    clock(seconds(1));
  }
  EXPECT_FALSE(core_.ended());
  ASSERT_THAT(seen<Say>(), SizeIs(14));
  EXPECT_EQ(seen<Say>()[0].line, "load   4 % of 4.0 GB");
  wait(seconds(11));
  EXPECT_TRUE(core_.ended()) << "nobody loads any more";
}

TEST_F(RunCoreStart, EndsTheJobWhereNothingIsLeftToBeginWith) {
  greet();
  keep(core_.cannot_begin(ExitCode::kCheckpoint, "none of the checkpoints is valid"));
  EXPECT_EQ(run_end().exit_code, static_cast<int>(ExitCode::kCheckpoint));
  EXPECT_EQ(run_end().reason, "none of the checkpoints is valid");
}

}  // namespace
}  // namespace gangway::coordinator
