// SPDX-License-Identifier: MIT
// The table of what follows from which facts.
#include "coordinator/core/decide.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gangway::coordinator {
namespace {

using ::testing::HasSubstr;
using Act = Verdict::Act;

constexpr TimePoint kNow{std::chrono::seconds(100)};

/// A start in the middle of its training: 50 of 90 steps.
View training() {
  View view;
  view.has_begun = true;
  view.steps_done = 50;
  view.end_step = view.job_steps = 90;
  view.go_on = "GO ON";
  view.start = 3;
  view.divergence = {.policy = DivergencePolicy::kRollback, .retries = 1, .rewind = 10};
  return view;
}

HeldTrouble trouble(std::int64_t step, std::chrono::milliseconds ago) {
  return {.trouble = {.step = step, .what = "loss nan"}, .rank = Rank(2), .since = kNow - ago};
}

void leave(View& view, std::optional<Resize> resize = {}) {
  view.have_all_left = true;
  view.leave = {.signal = 15, .resize = std::move(resize)};
}

struct Case {
  std::string name;
  std::function<void(View&)> change;
  Act act = Act::kGoOn;
  int exit_code = 0;
  std::string reason = {};
};

const std::vector<Case>& cases() {
  using namespace std::chrono_literals;
  const Fault lost{ExitCode::kWorkerLost, Rank(2), "rank 2 died"};
  const Fault foreign{ExitCode::kEnvironment, Rank(2), "other build"};
  static const std::vector<Case> kCases{
      {"nothing happens", [](View&) {}},
      {"a checkpoint is under way", [](View& v) { v.is_saving = v.is_committing = true; }},
      {"a worker is lost", [=](View& v) { v.fault = lost; }, Act::kEnd, 3, "rank 2 died"},
      {"a worker is lost while trouble is held",
       [=](View& v) {
         v.fault = lost;
         v.trouble = trouble(51, 1h);
       },
       Act::kEnd, 3, "rank 2 died"},
      {"a host cannot run the job",
       [=](View& v) {
         v.has_begun = false;
         v.fault = foreign;
       },
       Act::kEnd, 6, "other build"},
      {"a replacement host cannot run the job: a later start may do without it",
       [=](View& v) {
         v.has_begun = false;
         v.is_restart = true;
         v.fault = foreign;
       },
       Act::kEnd, 3, "other build"},
      {"a host fails after it has trained",
       [=](View& v) {
         v.is_restart = true;
         v.fault = foreign;
       },
       Act::kEnd, 6, "other build"},
      {"trouble, and earlier steps are not reported",
       [](View& v) { v.trouble = trouble(60, 1999ms); }},
      {"trouble, and their reports do not come", [](View& v) { v.trouble = trouble(60, 2s); },
       Act::kRollBack, 4, "loss nan; the job goes back to step 50"},
      {"trouble, and an earlier state gets onto the disk",
       [](View& v) {
         v.trouble = trouble(51, 9s);
         v.is_saving_before = true;
       }},
      {"trouble, and that disk hangs",
       [](View& v) {
         v.trouble = trouble(51, 10s);
         v.is_saving_before = true;
       },
       Act::kRollBack, 4, "after a bare mpirun GO ON"},
      {"trouble without a retry left",
       [](View& v) {
         v.trouble = trouble(51, 0s);
         v.divergence.retries = 0;
       },
       Act::kEnd, 4, "loss nan"},
      {"a leave before the first step",
       [](View& v) {
         v.has_begun = false;
         v.leave = {.signal = 15};
       },
       Act::kEnd, 75, "before the first step"},
      {"a leave while workers still save", [](View& v) { v.leave = {.signal = 15}; }},
      {"all workers left, the manifest is not there",
       [](View& v) {
         leave(v);
         v.is_saving = v.is_committing = true;
       }},
      {"all workers left without their parts",
       [](View& v) {
         leave(v);
         v.is_saving = true;
       },
       Act::kEnd, 1, "before they had reported their last checkpoint"},
      {"a leave", [](View& v) { leave(v); }, Act::kEnd, 75, "saved at step 50: GO ON"},
      {"a leave that could not save",
       [](View& v) {
         leave(v);
         v.save_error = "disk full";
       },
       Act::kEnd, 143, "could not be saved: disk full"},
      {"a resize", [](View& v) { leave(v, Resize{.workers = 3}); }, Act::kEnd, 75,
       "resized at step 50"},
      {"a resize that could not save",
       [](View& v) {
         leave(v, Resize{.workers = 3});
         v.save_error = "disk full";
       },
       Act::kEnd, 75, "could not save step 50 (disk full)"},
      {"a resize after the last step",
       [](View& v) {
         leave(v, Resize{.workers = 3});
         v.steps_done = 90;
       },
       Act::kEnd, 0, "done"},
      {"the last step",
       [](View& v) {
         v.have_all_left = true;
         v.steps_done = 90;
       },
       Act::kEnd, 0, "done"},
      {"the last save failed",
       [](View& v) {
         v.have_all_left = true;
         v.steps_done = 90;
         v.save_error = "disk full";
       },
       Act::kEnd, 6, "disk full"},
      {"an early stop",
       [](View& v) {
         v.have_all_left = true;
         v.end_step = 50;
         v.decisions = {{.kind = DecisionKind::kEarlyStop, .change = {.step = 50}, .why = "flat"}};
       },
       Act::kEnd, 0, "stopped early at step 50: flat"},
  };
  return kCases;
}

TEST(Decide, FollowsTheTable) {
  for (const Case& one : cases()) {
    View view = training();
    one.change(view);
    const Verdict verdict = decide(view, kNow);
    EXPECT_EQ(verdict.act, one.act) << one.name;
    EXPECT_EQ(verdict.end.exit_code, one.exit_code) << one.name;
    EXPECT_THAT(verdict.end.reason, HasSubstr(one.reason)) << one.name;
    if (one.act != Act::kGoOn) {
      EXPECT_EQ(verdict.end.step, view.steps_done) << one.name;
      EXPECT_EQ(verdict.end.is_orderly, view.have_all_left) << one.name;
      EXPECT_EQ(verdict.end.rolled_back, one.act == Act::kRollBack) << one.name;
    }
  }
}

TEST(Decide, TellsTheNextStartItsWorkers) {
  View view = training();
  leave(view, Resize{.workers = 3, .drained = {Rank(2)}});
  const Verdict verdict = decide(view, kNow);
  EXPECT_EQ(verdict.end.resize, view.leave->resize);
  EXPECT_TRUE(verdict.end.saved);
}

TEST(Decide, NamesTheRankThatReportedTrouble) {
  View view = training();
  view.trouble = trouble(51, std::chrono::seconds(0));
  const Verdict verdict = decide(view, kNow);
  EXPECT_EQ(verdict.end.rank, Rank(2));
  ASSERT_TRUE(verdict.rollback);
  EXPECT_EQ(verdict.rollback->start, 3);
}

TEST(Decide, RefusesAResizeWithTheReason) {
  View view = training();
  view.is_supervised = true;
  EXPECT_EQ(why_not_resized(view), "");
  view.leave = {.signal = 15, .resize = Resize{.workers = 2}};
  EXPECT_THAT(why_not_resized(view), HasSubstr("with other workers"));
  view.leave->resize.reset();
  EXPECT_EQ(why_not_resized(view), "it is stopping");
  view.leave.reset();
  view.is_supervised = false;
  EXPECT_THAT(why_not_resized(view), HasSubstr("supervises it"));
  view.has_begun = false;
  EXPECT_THAT(why_not_resized(view), HasSubstr("not begun"));
}

}  // namespace
}  // namespace gangway::coordinator
