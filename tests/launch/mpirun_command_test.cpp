// SPDX-License-Identifier: MIT
#include "launch/mpirun/mpirun_command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/shared_segment.hpp"
#include "launch/mpirun/message_paths.hpp"
#include "launch/process/environment.hpp"

namespace gangway::launch {
namespace {

TEST(ExportedVariables, AreThoseThatChangeWhatRanksOnOtherHostsDoOrCompute) {
  EXPECT_EQ(exported_variables({{"ATEN_CPU_CAPABILITY", "avx2"},
                                {"GANGWAY_BIN", "/opt/bin"},
                                {"GANGWAY_TYPED", "gangway"},
                                {"HOME", "/root"},
                                {"MKL_CBWR", "AVX2"},
                                {"NCCL_DEBUG", "INFO"},
                                {"ONEDNN_MAX_CPU_ISA", "AVX2"}}),
            (std::vector<std::string>{"ATEN_CPU_CAPABILITY", "MKL_CBWR", "NCCL_DEBUG",
                                      "ONEDNN_MAX_CPU_ISA"}));
}

TEST(MpirunCommand, StartsOneRankMoreThanWorkersAndKeepsTheOthersAliveAfterALoss) {
  const auto words = mpirun_command({.workers = 2,
                                     .threads = 3,
                                     .program = "/opt/bin/gangway",
                                     .hostfile = {},
                                     .exported_variables = {"NCCL_DEBUG"},
                                     .train_arguments = {"job.yaml", "a=b"}});
  EXPECT_EQ(
      shell_line(words),
      "mpirun --enable-recovery -n 3 --oversubscribe --bind-to none --mca pml ob1 --mca shmem mmap "
      "--mca btl_tcp_disable_family 6 --mca btl self,vader,tcp --mca odls_base_sigkill_timeout 2 "
      "--mca mpi_ft_enable 1 "
      "--mca state_base_error_non_zero_exit 0 -x OMP_NUM_THREADS=3 -x NCCL_DEBUG "
      "/opt/bin/gangway train job.yaml a=b");
}

TEST(MpirunCommand, LeavesSharedMemoryAloneWhereItIsTold) {
  const std::string line = shell_line(mpirun_command({.workers = 1,
                                                      .threads = 1,
                                                      .program = "g",
                                                      .hostfile = {},
                                                      .host_messages = HostMessages::kTcp,
                                                      .exported_variables = {},
                                                      .train_arguments = {}}));
  EXPECT_NE(line.find("--mca btl self,tcp "), std::string::npos) << line;
}

TEST(MessagePaths, AreSharedMemoryWhereItHasRoom) {
  EXPECT_EQ(choose_host_messages(1, kSharedMemoryFolder), HostMessages::kSharedMemory);
  EXPECT_EQ(choose_host_messages(100'000'000, kSharedMemoryFolder), HostMessages::kTcp);
  EXPECT_EQ(choose_host_messages(1, "/nowhere"), HostMessages::kSharedMemory) << "unknown";
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
  EXPECT_EQ(line.find("--mca btl "), std::string::npos);
  EXPECT_NE(line.find("--mca pml ob1"), std::string::npos) << "UCX has too few tags";
}

TEST(MpirunCommand, FillsOneHostAfterTheOtherAndConnectsAllAtTheStart) {
  const std::string line = shell_line(mpirun_command({.workers = 4,
                                                      .threads = 1,
                                                      .program = "g",
                                                      .hostfile = "hosts",
                                                      .exported_variables = {},
                                                      .train_arguments = {}}));
  EXPECT_NE(line.find("--map-by slot"), std::string::npos);
  EXPECT_NE(line.find("--mca mpi_preconnect_mpi 1"), std::string::npos);
}

TEST(MpirunCommand, LeavesConnectionsOfManyRanksToTheirFirstUse) {
  MpirunRequest request{.workers = 63, .program = "g", .hostfile = "hosts"};
  EXPECT_NE(shell_line(mpirun_command(request)).find("preconnect"), std::string::npos);
  request.workers = 64;
  EXPECT_EQ(shell_line(mpirun_command(request)).find("preconnect"), std::string::npos);
}

TEST(MpirunCommand, KeepsTheKernelsQueuesShortWhereTensorsTravelInStepsAndNowhereElse) {
  MpirunRequest request{.workers = 2, .program = "g", .hostfile = "hosts"};
  EXPECT_EQ(shell_line(mpirun_command(request)).find("sndbuf"), std::string::npos);
  request.sends_tensors = true;
  EXPECT_NE(shell_line(mpirun_command(request)).find("--mca btl_tcp_sndbuf 131072 "),
            std::string::npos);
}

TEST(MeasuringCommand, StartsAnotherProgramAtThePlacesOfAJob) {
  const MpirunRequest request{.workers = 2,
                              .threads = 1,
                              .program = "/opt/bin/measure",
                              .hostfile = {},
                              .exported_variables = {"LD_LIBRARY_PATH"},
                              .train_arguments = {}};
  EXPECT_EQ(shell_line(command_on_hosts(request, {"--sizes", "1M"})),
            "mpirun -n 3 --oversubscribe --bind-to none --mca pml ob1 --mca shmem mmap "
            "--mca btl_tcp_disable_family 6 --mca btl self,vader,tcp "
            "-x LD_LIBRARY_PATH /opt/bin/measure --sizes 1M");
}

TEST(ShellLine, QuotesWhatAShellWouldReadOtherwise) {
  EXPECT_EQ(shell_line({"a", "b c", "", "it's", "x=1", "$HOME", "data.source=toy:ring8"}),
            R"(a 'b c' '' 'it'\''s' x=1 '$HOME' data.source=toy:ring8)");
}

}  // namespace
}  // namespace gangway::launch
