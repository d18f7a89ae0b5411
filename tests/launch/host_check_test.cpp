// SPDX-License-Identifier: MIT
#include "launch/mpirun/host_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "launch/commands.hpp"

namespace gangway::launch {
namespace {

TEST(HostCheck, RefusesAHostWithAnotherBuild) {
  try {
    (void)run_command_line(gangway_commands(),
                           {"gangway", "check-host", "/nowhere/.host-check", "0.0.1 token"}, {});
    FAIL() << "accepted build 0.0.1";
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("0.0.1: install one build on all hosts"));
  }
}

TEST(HostCheck, KnowsTwoRanksOfOneHostFromTwoHosts) {
  EXPECT_FALSE(find_twins(
      {{"a/1/10", "a/24", "node-a"}, {"a/1/10", "a/24", "node-a"}, {"b/1/10", "b/24", "node-b"}}));
  EXPECT_FALSE(find_twins({{"a/1/10", "none", "node-a"}, {"b/1/10", "none", "node-b"}}));
}

TEST(HostCheck, RefusesTwoHostsOfOneName) {
  const auto line = find_twins({{"a/1/10", "a/24", "node"}, {"b/1/10", "b/24", "node"}});
  ASSERT_TRUE(line);
  EXPECT_THAT(*line, ::testing::HasSubstr("both called node: give each a name of its own"));
}

TEST(HostCheck, RefusesOneSharedMemoryUnderTwoNames) {
  const auto line = find_twins({{"a/1/10", "a/24", "node-a"}, {"a/2/10", "a/24", "node-b"}});
  ASSERT_TRUE(line);
  EXPECT_THAT(*line, ::testing::HasSubstr("hosts node-a and node-b share one /dev/shm"));
}

}  // namespace
}  // namespace gangway::launch
