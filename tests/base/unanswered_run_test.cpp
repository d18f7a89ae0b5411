// SPDX-License-Identifier: MIT
#include "run/control/unanswered_run.hpp"

#include <thread>

#include <gmock/gmock.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/this_host.hpp"
#include "run/run_files.hpp"
#include "run/run_lock.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway {
namespace {

using ::testing::HasSubstr;
using testing::ScratchFolder;

/// Lets a test rename this process, and restores the name.
class UnansweredRunTest : public ::testing::Test {
 protected:
  UnansweredRunTest() { (void)::prctl(PR_GET_NAME, before_); }
  ~UnansweredRunTest() override { call_me(before_); }
  static void call_me(const char* name) { (void)::prctl(PR_SET_NAME, name); }

  ScratchFolder folder_;

 private:
  char before_[16] = {};  // NOLINT: prctl(2) wants it so
};

TEST_F(UnansweredRunTest, IsNothingWhereNobodyHasTakenTheFolder) {
  EXPECT_EQ(look_at_unanswered(folder_.path()).trace, RunTrace::kNone);
  (void)folder_.write("lock", "pid nobody on\n");
  EXPECT_EQ(look_at_unanswered(folder_.path()).trace, RunTrace::kNone);
  EXPECT_EQ(describe(look_at_unanswered(folder_.path())), "");
}

TEST_F(UnansweredRunTest, TellsTheCommandThatStartsItFromItsCoordinator) {
  { const RunLock probe(folder_.path()); }
  call_me("gangway");
  const UnansweredRun begun = look_at_unanswered(folder_.path());
  EXPECT_EQ(begun.trace, RunTrace::kLaunching);
  EXPECT_EQ(begun.pid, ::getpid());
  EXPECT_THAT(describe(begun), HasSubstr("starts its processes"));
  call_me("gangway-coordin");
  EXPECT_EQ(look_at_unanswered(folder_.path()).trace, RunTrace::kComing);
}

TEST_F(UnansweredRunTest, KnowsThatItsProcessIsGone) {
  { const RunLock probe(folder_.path()); }
  call_me("somebody else");  // another process has this pid now
  EXPECT_EQ(look_at_unanswered(folder_.path()).trace, RunTrace::kGone);
  (void)folder_.write("lock", "pid 999999999 on " + host_name() + "\n");
  const UnansweredRun gone = look_at_unanswered(folder_.path());
  EXPECT_EQ(gone.trace, RunTrace::kGone);
  EXPECT_THAT(describe(gone), HasSubstr("pid 999999999, which began it 0s ago, is gone"));
}

TEST_F(UnansweredRunTest, WaitsForTheNameOfWhoeverHasJustCome) {
  (void)folder_.write("lock", "");
  const std::jthread holder(
      [this] { (void)folder_.write("lock", "pid 999999999 on " + host_name() + "\n"); });
  EXPECT_EQ(look_at_unanswered(folder_.path()).trace, RunTrace::kGone);
}

TEST_F(UnansweredRunTest, ConcludesNothingOfAnotherHost) {
  (void)folder_.write("lock", "pid 1 on another-host\n");
  const UnansweredRun other = look_at_unanswered(folder_.path());
  EXPECT_EQ(other.trace, RunTrace::kOnOtherHost);
  EXPECT_THAT(describe(other), HasSubstr("on host another-host"));
}

}  // namespace
}  // namespace gangway
