// SPDX-License-Identifier: MIT
#include "checkpoint/store/owner.hpp"

#include <gtest/gtest.h>

#include "tests/checkpoint/sample_checkpoint.hpp"

namespace gangway::checkpoint {
namespace {

TEST(Owner, IsAliveWhileItsProcessRuns) {
  EXPECT_EQ(judge(this_process(), this_process()), OwnerState::kAlive);
}

TEST(Owner, IsDeadWhenItsProcessIdIsUnusedOrReused) {
  Owner gone = this_process();
  gone.pid = 0x7fffffff;  // above the kernel's largest process id
  EXPECT_EQ(judge(gone, this_process()), OwnerState::kDead);
  Owner reused = this_process();
  reused.start_ticks += 1;
  EXPECT_EQ(judge(reused, this_process()), OwnerState::kDead);
}

TEST(Owner, IsDeadAfterAReboot) {
  Owner before = this_process();
  before.boot_id = "earlier";
  EXPECT_EQ(judge(before, this_process()), OwnerState::kDead);
}

TEST(Owner, OfAnotherHostOrContainerIsNotJudged) {
  Owner elsewhere = this_process();
  elsewhere.boot_id = "other";
  elsewhere.host = "other";
  EXPECT_EQ(judge(elsewhere, this_process()), OwnerState::kUnknown);
  Owner container = this_process();
  container.pid_namespace = "pid:[1]";
  EXPECT_EQ(judge(container, this_process()), OwnerState::kUnknown);
}

TEST(Owner, ThatCannotBeReadIsDead) {
  const ScratchFolder folder;
  EXPECT_EQ(owner_state(folder.path()), OwnerState::kDead);
  write_text(folder.path() / "owner.json", "{\"host\": 3}");
  EXPECT_EQ(owner_state(folder.path()), OwnerState::kDead);
  write_text(folder.path() / "owner.json", "{");
  EXPECT_EQ(owner_state(folder.path()), OwnerState::kDead);
}

TEST(Owner, IsReadBackFromItsFolder) {
  const ScratchFolder folder;
  write_owner(folder.path(), this_process());
  EXPECT_EQ(owner_state(folder.path()), OwnerState::kAlive);
}

}  // namespace
}  // namespace gangway::checkpoint
