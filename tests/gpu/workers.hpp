// SPDX-License-Identifier: MIT
// The workers of a test under mpirun, one rank more than workers: rank 0 idles, as the coordinator.
// Several workers may share one GPU: NCCL then has to take each for a host of its own.
#pragma once

#include <cstdlib>
#include <string>

#include "comm/mpi_session.hpp"
#include "comm/mpi_transport.hpp"
#include "comm/nccl/nccl_session.hpp"
#include "comm/nccl/unique_id.hpp"
#include "tests/gpu/device_memory.hpp"

namespace gangway::comm {

/// NCCL refuses two ranks of one host on one GPU, and knows hosts by this variable. Called by main,
/// before MPI and NCCL start.
inline void be_a_host_of_ones_own() {
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  (void)setenv("NCCL_HOSTID", rank == nullptr ? "0" : rank, 1);
}

/// A new communicator for the workers of `transport`'s epoch.
inline NcclSession::Setup session_setup(
    Transport& transport, NcclSession::Calls calls = NcclSession::Calls::kNonBlocking,
    std::chrono::milliseconds timeout = std::chrono::seconds(30)) {
  const int device = transport.worker() % num_devices();
  check(cudaSetDevice(device), "choosing the device");
  return {.id = agree_on_unique_id(transport, timeout),
          .worker = transport.worker(),
          .num_workers = transport.num_workers(),
          .device = device,
          .calls = calls,
          .timeout = timeout};
}

}  // namespace gangway::comm
