// SPDX-License-Identifier: MIT
#include "launch/mpirun/host_check.hpp"

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "launch/commands.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

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
  EXPECT_THAT(*line, ::testing::HasSubstr("both called node: give each its own name"));
}

TEST(HostCheck, RefusesOneSharedMemoryUnderTwoNames) {
  const auto line = find_twins({{"a/1/10", "a/24", "node-a"}, {"a/2/10", "a/24", "node-b"}});
  ASSERT_TRUE(line);
  EXPECT_THAT(*line, ::testing::HasSubstr("hosts node-a and node-b share one /dev/shm"));
}

/// mpirun is a script that starts no rank on a host named `bad`.
class SilentHosts : public ::testing::Test {
 protected:
  SilentHosts() : path_(std::getenv("PATH")) {
    script("mpirun", R"(while [ "$1" != --hostfile ]; do shift; done; ! grep -q bad "$2")");
    ::setenv("PATH", (bin_.path().string() + ":" + path_).c_str(), 1);
  }
  ~SilentHosts() override { ::setenv("PATH", path_.c_str(), 1); }

  /// Writes a script that records its arguments, a line per call.
  void script(const std::string& name, const std::string& work) const {
    const auto file =
        bin_.write(name, fmt::format("#!/bin/sh\nprintf '%s\\n' \"$*\" >>{}/{}.calls\n{}\n",
                                     bin_.path().string(), name, work));
    fs::permissions(file, fs::perms::owner_all);
  }
  [[nodiscard]] std::vector<std::string> calls_of(const std::string& name) const {
    std::istringstream text(bin_.read(name + ".calls"));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) {
      lines.push_back(line);
    }
    return lines;
  }
  [[nodiscard]] std::vector<std::string> find(int hosts, const std::string& last) const {
    std::vector<Host> all;
    for (int i = 1; i < hosts; ++i) {
      all.push_back({fmt::format("host{}", i)});
    }
    all.push_back({last});
    return find_silent_hosts({.program = "/bin/gangway"}, all, bin_.path(),
                             std::chrono::duration<double>(0.3));
  }

  gangway::testing::ScratchFolder bin_;
  std::string path_;
};

TEST_F(SilentHosts, AreFoundByOneMpirunWhereManyAnswer) {
  EXPECT_THAT(find(30, "good"), ::testing::IsEmpty());
  EXPECT_THAT(calls_of("mpirun"), ::testing::ElementsAre(::testing::StartsWith("-n 30 ")));
}

TEST_F(SilentHosts, AreNamedByAnMpirunEachWhereOneDoesNotAnswer) {
  EXPECT_THAT(find(9, "bad"), ::testing::ElementsAre("bad"));
  EXPECT_EQ(calls_of("mpirun").size(), 1 + 9);
}

TEST_F(SilentHosts, HaveThreeTimesAsLongAsAllTookAtTheFirstStart) {
  using std::chrono::seconds;
  EXPECT_EQ(answer_limit(std::chrono::milliseconds(300)), seconds(4));
  EXPECT_EQ(answer_limit(std::chrono::milliseconds(5'100)), seconds(16));
  EXPECT_EQ(answer_limit(seconds(100)), seconds(60));
}

TEST(GpusIn, ReadsOneLineAmongOthers) {
  EXPECT_EQ(gpus_in("Warning: Permanently added 'b'\ngangway-gpus 8\n"), 8);
  EXPECT_EQ(gpus_in("ssh: no route to host\n"), 0);
}

}  // namespace
}  // namespace gangway::launch
