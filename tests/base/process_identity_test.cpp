// SPDX-License-Identifier: MIT
#include "base/process_identity.hpp"

#include <csignal>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gangway {
namespace {

/// A child that does nothing until it is killed.
class Child {
 public:
  Child() : pid_(::fork()) {
    if (pid_ == 0) {
      for (;;) {
        ::pause();
      }
    }
    identity_ = own_process();
    identity_.pid = pid_;
    identity_.start_ticks = start_ticks_of(pid_);
  }
  ~Child() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] const ProcessIdentity& identity() const { return identity_; }
  [[nodiscard]] bool is_killed() {
    int status = 0;
    const bool has_ended = ::waitpid(pid_, &status, 0) == pid_;
    pid_ = 0;
    return has_ended && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }
  [[nodiscard]] bool lives() const { return ::waitpid(pid_, nullptr, WNOHANG) == 0; }

 private:
  pid_t pid_;
  ProcessIdentity identity_;
};

TEST(ProcessIdentity, KillsTheProcessThatItMeans) {
  Child child;
  EXPECT_TRUE(kill_process(child.identity()));
  EXPECT_TRUE(child.is_killed());
}

// A zombie: its parent, as the first process of some containers, does not wait for it.
TEST(ProcessIdentity, CountsOneThatNobodyWaitedForAsGone) {
  Child child;
  EXPECT_TRUE(kill_process(child.identity()));
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child.identity().pid), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(start_ticks_of(child.identity().pid), 0U);
  EXPECT_TRUE(child.is_killed());
}

TEST(ProcessIdentity, KillsNobodyElseOfTheSameNumber) {
  const Child child;
  ProcessIdentity earlier = child.identity();
  earlier.start_ticks -= 1;
  EXPECT_FALSE(kill_process(earlier));
  ProcessIdentity of_another_host = child.identity();
  of_another_host.boot_id = "another boot";
  EXPECT_FALSE(kill_process(of_another_host)) << "whatever the hosts are called";
  ProcessIdentity of_a_container = child.identity();
  of_a_container.pid_namespace = "pid:[1]";
  EXPECT_FALSE(kill_process(of_a_container));
  ProcessIdentity unknown = child.identity();
  unknown.start_ticks = 0;
  EXPECT_FALSE(kill_process(unknown));
  EXPECT_TRUE(child.lives());
}

TEST(ProcessIdentity, KnowsNoProcessThatIsGone) {
  Child child;
  const ProcessIdentity identity = child.identity();
  EXPECT_TRUE(kill_process(identity));
  EXPECT_TRUE(child.is_killed());
  EXPECT_FALSE(kill_process(identity));
  EXPECT_FALSE(kill_process({}));
}

TEST(ProcessIdentity, TellsWhoSharesMemory) {
  EXPECT_EQ(shared_memory_identity(), shared_memory_identity());
  EXPECT_NE(shared_memory_identity(), 0U);
}

}  // namespace
}  // namespace gangway
