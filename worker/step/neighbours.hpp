// SPDX-License-Identifier: MIT
// Finds the workers that share this worker's host and memory, as the job's layout asks. Called by
// the worker's main at the start, compute thread; messages run on the lane.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "comm/host/host_memory.hpp"
#include "comm/lane.hpp"
#include "comm/transport/transport.hpp"
#include "job/spec.hpp"

namespace gangway::worker {

struct Neighbours {
  std::vector<int> hosts;          ///< by worker: equal where memory is shared
  comm::HostMemory memory;         ///< shared by the workers of this host
  std::vector<int> machines = {};  ///< by worker: equal where it could be shared
  comm::Lane::Core core = comm::Lane::Core::kShared;
  int workers_on_machine = 1;
  std::string summary;  ///< "2 workers share memory; the lane sleeps between polls", for the log
  std::string choice;   ///< auto's choice and measurements; empty if the job chose
  /// Returns one word of every worker, by worker. Every worker calls it. Empty: a single worker.
  std::function<std::vector<std::uint64_t>(std::uint64_t)> exchange = {};
};

/// @param wanted  layout.transport; auto first measures the paths between workers, or takes them
/// from the run directory's calibration.json, which worker 0 reads and writes.
/// @param token  of this start of the run; other users see only its hash
/// @throws ConfigError if the layout asks for shared memory between hosts; CommError naming a
/// silent worker.
[[nodiscard]] Neighbours find_neighbours(const Job& job, TransportKind wanted,
                                         const std::string& token,
                                         const std::filesystem::path& run_directory,
                                         comm::Transport& transport, comm::Lane& lane);

}  // namespace gangway::worker
