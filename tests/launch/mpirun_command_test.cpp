// SPDX-License-Identifier: MIT
#include "launch/mpirun_command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/errors.hpp"

namespace gangway::launch {
namespace {

TEST(MpirunCommand, StartsOneRankMoreThanWorkersAndKeepsTheOthersAliveAfterALoss) {
  const auto words = mpirun_command({.workers = 2,
                                     .threads = 3,
                                     .program = "/opt/bin/gangway",
                                     .hostfile = {},
                                     .exported_variables = {"NCCL_DEBUG"},
                                     .train_arguments = {"job.yaml", "a=b"}});
  EXPECT_EQ(shell_line(words),
            "mpirun --enable-recovery -n 3 --oversubscribe --bind-to none --mca pml ob1 "
            "--mca btl self,vader,tcp --mca odls_base_sigkill_timeout 10 -x OMP_NUM_THREADS=3 -x "
            "NCCL_DEBUG "
            "/opt/bin/gangway train job.yaml a=b");
}

TEST(MpirunCommand, LeavesTheTransportsToOpenMpiOnSeveralHosts) {
  const auto words = mpirun_command({.workers = 1,
                                     .threads = 1,
                                     .program = "g",
                                     .hostfile = "hosts",
                                     .exported_variables = {},
                                     .train_arguments = {}});
  const std::string line = shell_line(words);
  EXPECT_NE(line.find("--hostfile hosts"), std::string::npos);
  EXPECT_EQ(line.find("btl"), std::string::npos);
  EXPECT_NE(line.find("--mca pml ob1"), std::string::npos) << "UCX has too few tags";
}

TEST(ShellLine, QuotesWhatAShellWouldReadOtherwise) {
  EXPECT_EQ(shell_line({"a", "b c", "", "it's", "x=1", "$HOME", "data.source=toy:ring8"}),
            R"(a 'b c' '' 'it'\''s' x=1 '$HOME' data.source=toy:ring8)");
}

TEST(Hostfile, GivesTheFirstHostOneSlotMore) {
  EXPECT_EQ(hostfile_with_coordinator("# ours\n\nnode-a slots=8 max_slots=9\nnode-b slots=8\n"),
            "# ours\n\nnode-a slots=9 max_slots=9\nnode-b slots=8\n");
  EXPECT_EQ(hostfile_with_coordinator("node-a\nnode-b"), "node-a slots=2\nnode-b\n");
}

TEST(Hostfile, CountsTheSlotsForWorkers) {
  EXPECT_EQ(hostfile_slots("# c\nnode-a slots=8\nnode-b\n"), 9);
}

TEST(Hostfile, RefusesOneWithoutHostsOrWithBadSlots) {
  EXPECT_THROW((void)hostfile_with_coordinator("# nothing\n"), ConfigError);
  EXPECT_THROW((void)hostfile_slots(""), ConfigError);
  EXPECT_THROW((void)hostfile_slots("node-a slots=none"), ConfigError);
  EXPECT_THROW((void)hostfile_slots("node-a slots=0"), ConfigError);
}

}  // namespace
}  // namespace gangway::launch
