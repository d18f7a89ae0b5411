// SPDX-License-Identifier: MIT
// The workers of a test under mpirun, one rank more than workers: rank 0 idles, as the coordinator.
#pragma once

#include <cstdlib>
#include <string>

#include "comm/nccl/nccl_session.hpp"
#include "comm/nccl/shared_device.hpp"
#include "comm/nccl/unique_id.hpp"
#include "comm/transport/mpi_session.hpp"
#include "comm/transport/mpi_transport.hpp"
#include "tests/gpu/device_memory.hpp"

namespace gangway::comm {

/// Makes a new communicator for the workers of `transport`'s epoch. If several share a GPU, NCCL
/// treats them as workers of several hosts.
inline NcclSetup session_setup(Transport& transport,
                               NcclSession::Calls calls = NcclSession::Calls::kNonBlocking,
                               std::chrono::milliseconds timeout = std::chrono::seconds(30)) {
  const int device = transport.worker() % num_devices();
  check(cudaSetDevice(device), "choosing the device");
  if (const auto host = find_device_sharing(transport, device, timeout).pretended_host) {
    (void)setenv("NCCL_HOSTID", host->c_str(), 1);
  }
  return {.id = agree_on_unique_id(transport, timeout),
          .worker = transport.worker(),
          .num_workers = transport.num_workers(),
          .device = device,
          .calls = calls,
          .timeout = timeout,
          .meeting_timeout = timeout};
}

}  // namespace gangway::comm
