// SPDX-License-Identifier: MIT
#include "launch/run/job_end.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gangway::launch {
namespace {

using std::chrono::milliseconds;

TEST(JobEnd, GivesUpAnMpirunThatDoesNotDieOfItsKill) {
  TetherServer tethers(BindScope::kThisHost, 0, 2);
  const pid_t mpirun = ::fork();
  if (mpirun == 0) {
    ::_exit(0);  // like a process that hangs in the kernel, it takes no signal until it is reaped
  }
  const auto begin = std::chrono::steady_clock::now();
  JobEnd end(tethers, mpirun, PendingSaves::kNone, begin);
  EXPECT_EQ(end.push(begin), JobEnd::Next::kWait);
  EXPECT_EQ(end.push(begin + milliseconds(4'900)), JobEnd::Next::kWait);
  EXPECT_EQ(end.push(begin + milliseconds(5'000)), JobEnd::Next::kGiveUp);
  EXPECT_EQ(::waitpid(mpirun, nullptr, 0), mpirun);
}

}  // namespace
}  // namespace gangway::launch
