// SPDX-License-Identifier: MIT
// What people may ask of a running job.
#include <gmock/gmock.h>

#include "coordinator/steering/settable_keys.hpp"
#include "tests/coordinator/run_core_fixture.hpp"

namespace gangway::coordinator {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Steering : public RunCoreTest {
 protected:
  using RunCoreTest::RunCoreTest;

  CommandAnswer ask(Order order) {
    Commanded commanded =
        core_.on_command({.order = std::move(order), .who = "ann@node-b"}, now_, 77.0);
    keep(std::move(commanded.effects));
    return commanded.answer;
  }
  JobPhase phase() const { return core_.status(now_, 0.0).phase; }
  std::int64_t granted_end() const {
    const auto grants = seen<GrantLease>();
    return grants.empty() ? 0 : grants.back().lease.end;
  }
  /// All steps that are granted are done.
  void finish_granted() {
    for (std::int64_t step = core_.status(now_, 0.0).step; step < granted_end(); ++step) {
      step_to(step, step + 1);
    }
  }
};

TEST_F(Steering, PausesAtTheEndOfWhatIsGrantedAndGoesOn) {
  begin();
  step_to(0, 2);
  const CommandAnswer answer = ask(PauseJob{});
  EXPECT_EQ(answer.refusal, Refusal::kNone);
  EXPECT_EQ(answer.step, granted_end());
  EXPECT_EQ(phase(), JobPhase::kPausing);
  finish_granted();
  EXPECT_EQ(granted_end(), answer.step);
  EXPECT_EQ(phase(), JobPhase::kPaused);
  EXPECT_EQ(core_.status(now_, 0.0).pause->by, "ann@node-b");
  EXPECT_DOUBLE_EQ(core_.status(now_, 0.0).pause->unix_seconds, 77.0);
  EXPECT_EQ(ask(ResumeJob{}).step, answer.step);
  EXPECT_GT(granted_end(), answer.step);
  EXPECT_EQ(phase(), JobPhase::kTraining);
}

TEST_F(Steering, MayStayPausedForDaysWhileWorkersAreTold) {
  begin();
  step_to(0, 2);
  ask(PauseJob{});
  finish_granted();
  wait(hours(20));
  EXPECT_FALSE(core_.ended());
  EXPECT_GE(sent<messages::Patience>(2).size(), 470U) << "one every 150 s";
  const auto ticks = seen<ShowTick>().size();
  ask(ResumeJob{});
  finish_granted();
  ASSERT_GT(seen<ShowTick>().size(), ticks);
  EXPECT_LT(seen<ShowTick>()[ticks].tick.seconds_tick, 60.0) << "a pause is no training";
  EXPECT_FALSE(core_.ended());
  wait(hours(1));
  EXPECT_TRUE(core_.ended()) << "who is silent after a pause is missed again";
}

TEST_F(Steering, StillMissesWhoDoesNotFinishWhatWasGrantedBeforeThePause) {
  begin();
  step_to(0, 2);
  ask(PauseJob{});
  wait(hours(1));
  EXPECT_EQ(run_end().exit_code, 3);
}

TEST_F(Steering, SavesAndStopsWhilePaused) {
  begin();
  step_to(0, 2);
  const std::int64_t step = ask(PauseJob{}).step;
  finish_granted();
  const CommandAnswer saved = ask(SaveCheckpoint{.pin = true});
  EXPECT_EQ(saved.step, step);
  EXPECT_EQ(seen<GrantLease>().back().checkpoint_step, step);
  part(1, step);
  part(2, step);
  keep(core_.checkpoint_committed(step, now_));
  ASSERT_EQ(seen<PinCheckpoint>().size(), 1U);
  EXPECT_EQ(seen<PinCheckpoint>()[0].step, step);
  EXPECT_EQ(phase(), JobPhase::kPaused);
  ask(StopJob{});
  EXPECT_TRUE(seen<GrantLease>().back().lease.last);
  goodbyes();
  EXPECT_EQ(run_end().exit_code, 75);
}

TEST_F(Steering, PinsTheNextCheckpointWhereTheOneAskedForFails) {
  begin();
  step_to(0, 2);
  const std::int64_t step = ask(SaveCheckpoint{.pin = true}).step;
  keep(core_.checkpoint_failed(step, "full", now_));
  EXPECT_TRUE(seen<PinCheckpoint>().empty());
  keep(core_.checkpoint_committed(10, now_));
  ASSERT_EQ(seen<PinCheckpoint>().size(), 1U);
  EXPECT_EQ(seen<PinCheckpoint>()[0].step, 10);
}

TEST_F(Steering, PinsAtOnceWhatIsSavedAlready) {
  begin();
  step_to(0, 2);
  const std::int64_t step = ask(SaveCheckpoint{}).step;
  keep(core_.checkpoint_committed(step, now_));
  EXPECT_EQ(ask(SaveCheckpoint{.pin = true}).step, step);
  EXPECT_EQ(seen<PinCheckpoint>().size(), 1U);
}

TEST_F(Steering, LeavesARecordOfWhoAskedForWhatAndWhen) {
  begin();
  ask(PauseJob{});
  ask(SetKey{.key = "checkpoint.keep", .value = "7"});
  const auto records = seen<RecordSteering>();
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].event.command, "pause");
  EXPECT_EQ(records[0].event.who, "ann@node-b");
  EXPECT_DOUBLE_EQ(records[0].event.unix_seconds, 77.0);
  EXPECT_EQ(records[1].event.arguments.at("value"), "7");
  EXPECT_EQ(records[1].event.arguments.at("job"), "3");
}

TEST_F(Steering, SetsWhatChangesNoBit) {
  begin();
  const CommandAnswer answer = ask(SetKey{.key = "checkpoint.keep", .value = "7"});
  EXPECT_EQ(answer.text, "checkpoint.keep is 7, was 3");
  ASSERT_EQ(seen<KeepCheckpoints>().size(), 1U);
  EXPECT_EQ(seen<KeepCheckpoints>()[0].spec.keep, 7);
  EXPECT_EQ(ask(SetKey{.key = "checkpoint.every_steps", .value = "5"}).refusal, Refusal::kNone);
  step_to(0, 6);
  const auto grants = seen<GrantLease>();
  EXPECT_TRUE(std::ranges::any_of(grants, [](const GrantLease& grant) {
    return grant.checkpoint_step == 5 || grant.checkpoint_step == 10;
  }));
}

TEST_F(Steering, RefusesKeysAndValuesThatCannotBeSet) {
  begin();
  const CommandAnswer bits = ask(SetKey{.key = "training.batch", .value = "8"});
  EXPECT_EQ(bits.refusal, Refusal::kInvalid);
  EXPECT_THAT(bits.text, HasSubstr("checkpoint.keep"));
  EXPECT_EQ(ask(SetKey{.key = "checkpoint.keep", .value = "none"}).refusal, Refusal::kInvalid);
  EXPECT_EQ(ask(SetKey{.key = "checkpoint.keep", .value = "0"}).refusal, Refusal::kInvalid);
  EXPECT_EQ(ask(SetKey{.key = "checkpoint.keep", .value = "[1"}).refusal, Refusal::kInvalid);
  EXPECT_TRUE(seen<RecordSteering>().empty());
}

TEST_F(Steering, TracesStepsThatAreToCome) {
  begin();
  step_to(0, 2);
  const std::int64_t granted = granted_end();
  EXPECT_EQ(ask(TraceJob{.begin = 1, .end = granted + 2}).refusal, Refusal::kNotNow);
  EXPECT_EQ(ask(TraceJob{.begin = granted, .end = 1000}).refusal, Refusal::kNotNow);
  EXPECT_EQ(ask(TraceJob{.begin = 9, .end = 9}).refusal, Refusal::kInvalid);
  EXPECT_EQ(ask(TraceJob{.begin = 0, .end = -1}).refusal, Refusal::kInvalid);
  EXPECT_THAT(ask(TraceJob{.begin = 0, .end = 2, .detail = {.kernels = true}}).text,
              HasSubstr("it computes on CPUs"));
  EXPECT_EQ(ask(TraceJob{.begin = 0, .end = 2, .detail = {.memory = true}}).step, granted);
  EXPECT_EQ(seen<BeginTrace>().size(), 1U);
  EXPECT_EQ(ask(TraceJob{.begin = 0, .end = 2}).refusal, Refusal::kNotNow) << "one at a time";
  step_to(2, 3);
  finish_granted();
  int told = 0;
  for (const GrantLease& grant : seen<GrantLease>()) {
    if (!grant.lease.trace.empty()) {
      ++told;
      EXPECT_EQ(grant.lease.trace, (TraceSteps{granted, granted + 2, {.memory = true}}));
      EXPECT_LE(grant.lease.begin, granted);
    }
  }
  EXPECT_EQ(told, 1);
}

TEST_F(Steering, RefusesWhatTheJobCannotDoAsItStands) {
  EXPECT_EQ(ask(SaveCheckpoint{}).refusal, Refusal::kNotNow);
  begin();
  EXPECT_THAT(ask(DrainWorkers{.name = "node-a"}).text,
              HasSubstr("no `gangway run` supervises it"));
  ask(StopJob{});
  EXPECT_EQ(ask(PauseJob{}).refusal, Refusal::kNotNow);
  EXPECT_EQ(ask(StopJob{}).refusal, Refusal::kNone);
  goodbyes();
  ASSERT_TRUE(core_.ended());
  EXPECT_EQ(ask(ResumeJob{}).refusal, Refusal::kNotNow);
}

/// `gangway run` stands over it.
class Draining : public Steering {
 public:
  static RunCoreSettings supervised() {
    RunCoreSettings result = settings();
    result.is_supervised = true;
    return result;
  }

 protected:
  Draining() : Steering(supervised()) {}
};

TEST_F(Draining, SavesAndIsToGoOnWithTheOthers) {
  begin();
  step_to(0, 2);
  const CommandAnswer answer = ask(DrainWorkers{.name = "2"});
  EXPECT_EQ(answer.refusal, Refusal::kNone) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("goes on with 1 worker, without rank 2"));
  finish_granted();
  EXPECT_TRUE(seen<GrantLease>().back().lease.last);
  part(1, answer.step);
  part(2, answer.step);
  keep(core_.checkpoint_committed(answer.step, now_));
  goodbyes();
  EXPECT_EQ(run_end().exit_code, 75);
  EXPECT_EQ(run_end().resize, (Resize{.workers = 1, .drained = {Rank(2)}}));
}

TEST_F(Draining, IsRefusedWhereNobodyWouldBeLeftOrNobodyIsMeant) {
  EXPECT_EQ(ask(DrainWorkers{.name = "2"}).refusal, Refusal::kNotNow);
  begin();
  EXPECT_THAT(ask(DrainWorkers{.name = "node-a"}).text, HasSubstr("no worker would be left"));
  EXPECT_THAT(ask(DrainWorkers{.name = "node-z"}).text, HasSubstr("say a host (node-a)"));
  EXPECT_EQ(ask(DrainWorkers{.name = "3"}).refusal, Refusal::kInvalid);
  EXPECT_EQ(phase(), JobPhase::kTraining);
  EXPECT_EQ(ask(DrainWorkers{.name = "1"}).refusal, Refusal::kNone);
  EXPECT_THAT(ask(DrainWorkers{.name = "2"}).text, HasSubstr("no worker would be left"));
}

TEST_F(Draining, BecomesAStopWhereThatIsAskedFor) {
  begin();
  step_to(0, 2);
  ask(DrainWorkers{.name = "2"});
  EXPECT_THAT(ask(StopJob{}).text, HasSubstr("and leaves"));
  EXPECT_EQ(ask(DrainWorkers{.name = "2"}).refusal, Refusal::kNotNow);
  finish_granted();
  part(1, granted_end());
  part(2, granted_end());
  keep(core_.checkpoint_committed(granted_end(), now_));
  goodbyes();
  EXPECT_EQ(run_end().exit_code, 75);
  EXPECT_FALSE(run_end().resize.has_value());
}

/// The layout names the number of workers.
class DrainingOfANamedLayout : public Steering {
 protected:
  DrainingOfANamedLayout() : Steering(named()) {}
  static RunCoreSettings named() {
    RunCoreSettings result = Draining::supervised();
    result.job.layout.data = 2;
    return result;
  }
};

TEST_F(DrainingOfANamedLayout, IsRefused) {
  begin();
  EXPECT_THAT(ask(DrainWorkers{.name = "2"}).text,
              AllOf(HasSubstr("the layout does not go with 1 worker: "), HasSubstr("layout.data")));
}

using Resizing = Draining;

TEST_F(Resizing, SavesAndIsToGoOnWithAsManyAsWereAskedFor) {
  begin();
  step_to(0, 2);
  const CommandAnswer answer = ask(ResizeJob{.workers = 1});
  EXPECT_THAT(answer.text, HasSubstr("goes on with 1 worker"));
  EXPECT_EQ(ask(DrainWorkers{.name = "2"}).refusal, Refusal::kNotNow);
  EXPECT_EQ(ask(ResizeJob{.workers = 2}).refusal, Refusal::kNotNow);
  finish_granted();
  part(1, answer.step);
  part(2, answer.step);
  keep(core_.checkpoint_committed(answer.step, now_));
  goodbyes();
  EXPECT_EQ(run_end().exit_code, 75);
  EXPECT_EQ(run_end().resize, Resize{.workers = 1});
}

TEST_F(Resizing, IsRefusedWhereTheLayoutDoesNotGoWithSoMany) {
  EXPECT_EQ(ask(ResizeJob{.workers = 1}).refusal, Refusal::kNotNow);
  begin();
  EXPECT_THAT(ask(ResizeJob{.workers = 0}).text, HasSubstr("no worker would be left"));
  EXPECT_THAT(ask(ResizeJob{.workers = 3}).text, HasSubstr("use -n 2 or fewer"));
  EXPECT_THAT(ask(ResizeJob{.workers = 2}).text, HasSubstr("has 2 workers already"));
  EXPECT_EQ(phase(), JobPhase::kTraining);
}

/// One worker, in a start that begins paused.
class SteeringFromBefore : public Steering {
 protected:
  SteeringFromBefore() : Steering(paused()) {}
  static RunCoreSettings paused() {
    RunCoreSettings result = settings();
    result.num_workers = result.ticks.num_workers = result.ticks.microbatches = 1;
    result.pause = {.unix_seconds = 5.0, .by = "ann"};
    return result;
  }
  void begin_with(const ResumePoint& state) {
    hello(1);
    keep(core_.on_lifeline_opened(Rank(1), now_));
    inventory(1);
    keep(core_.begin_with(state));
    ready(1);
  }
};

TEST_F(SteeringFromBefore, SavesNothingBeforeTheFirstStep) {
  begin_with({});
  EXPECT_EQ(ask(SaveCheckpoint{.pin = true}).refusal, Refusal::kNotNow);
  EXPECT_TRUE(seen<PinCheckpoint>().empty());
}

TEST_F(SteeringFromBefore, BeginsPausedWhereAnEarlierStartWasPaused) {
  begin_with({.step = 4, .saved_step = 4});
  EXPECT_TRUE(seen<GrantLease>().empty());
  EXPECT_EQ(phase(), JobPhase::kPaused);
  ask(ResumeJob{});
  EXPECT_FALSE(seen<GrantLease>().empty());
}

SteeringEvent set_event(const std::string& key, const std::string& value, const std::string& job) {
  return {.command = "set", .arguments = {{"key", key}, {"value", value}, {"job", job}}};
}

TEST(ActiveCommands, AreWhatWasNotTakenBackOrOverruledByTheJob) {
  JobSpec job;
  const SteeringEvents events{{.unix_seconds = 3.0, .command = "pause", .who = "ann"},
                              set_event("checkpoint.keep", "9", "3"),
                              set_event("checkpoint.keep_every", "2", "0"),
                              set_event("training.batch", "2", "64"),
                              set_event("checkpoint.keep", "5", "3")};
  ActiveCommands standing = active_commands(job, events);
  EXPECT_TRUE(standing.is_paused);
  EXPECT_EQ(standing.paused_by, "ann");
  EXPECT_EQ(standing.job.checkpoint.keep, 5);
  EXPECT_DOUBLE_EQ(standing.job.checkpoint.keep_every, 2.0);
  EXPECT_EQ(standing.job.training.batch, job.training.batch);
  job.checkpoint.keep = 4;
  EXPECT_EQ(active_commands(job, events).job.checkpoint.keep, 4);
  SteeringEvents resumed = events;
  resumed.push_back({.command = "resume"});
  EXPECT_FALSE(active_commands(job, resumed).is_paused);
}

TEST(SettableKeys, AreBoundWhereWhatIsTrainedFollowsThem) {
  JobSpec job;
  job.checkpoint.early_stop = 2;
  EXPECT_THROW((void)with_key(job, "checkpoint.every_kimg", "1"), ConfigError);
  EXPECT_NO_THROW((void)with_key(job, "checkpoint.keep", "1"));
  job.training.divergence.saturation_is_trouble = true;
  EXPECT_THROW((void)with_key(job, "output.tick_kimg", "1"), ConfigError);
  for (const std::string_view key : settable_keys()) {
    EXPECT_NO_THROW((void)value_of(job, std::string(key))) << key;
  }
}

}  // namespace
}  // namespace gangway::coordinator
