// SPDX-License-Identifier: MIT
#include "comm/nccl/nccl_log.hpp"

#include <fstream>

#include <gtest/gtest.h>

namespace gangway::comm {
namespace {

constexpr const char* kLog =
    "vm:21:21 [0] NCCL INFO ENV/Plugin: Could not find: libnccl-env.so\n"
    "vm:21:30 [0] NCCL INFO NET/IB : No device found.\n"
    "vm:21:30 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0> [1]eth1:10.1.0.1<0>\n"
    "vm:21:30 [0] NCCL INFO Using network Socket\n"
    "vm:21:30 [0] NCCL INFO ncclCommInitRankConfig comm 0x55 rank 0 nranks 2\n";

TEST(NcclLog, NamesTheNetworkAndItsDevices) {
  EXPECT_EQ(network_in(kLog), "Socket, [0]eth0:10.0.0.1<0> [1]eth1:10.1.0.1<0>");
  EXPECT_EQ(network_in("x [0] NCCL INFO Using network AWS Libfabric\n"), "AWS Libfabric");
  EXPECT_EQ(network_in("x [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB\n"), "");
  EXPECT_EQ(network_in(""), "");
}

TEST(NcclLog, IsAFileThatNcclCanOpen) {
  const NcclLog log;
  EXPECT_EQ(log.network(), "");
  std::ofstream(log.path()) << kLog;
  EXPECT_EQ(log.network(), network_in(kLog));
}

}  // namespace
}  // namespace gangway::comm
