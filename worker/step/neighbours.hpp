// SPDX-License-Identifier: MIT
// Which workers share this worker's host and memory: found with all others at the start, as the
// job's layout wants it. Called by the worker's main, compute thread; the talk runs on the lane.
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
  comm::HostMemory memory;         ///< that they share
  std::vector<int> machines = {};  ///< by worker: equal where it could be
  comm::Lane::Core core = comm::Lane::Core::kShared;
  int workers_on_machine = 1;
  std::string summary;  ///< "2 workers share memory; the lane sleeps between polls", for the log
  std::string choice;   ///< what auto chose, and the numbers; empty where the job chose
  /// Gives every worker the words of all, by worker. Every worker calls it. Empty: there is one.
  std::function<std::vector<std::uint64_t>(std::uint64_t)> exchange = {};
};

/// @param wanted  layout.transport; under auto the paths between workers are measured first, or
/// taken from the run directory's calibration.json, which worker 0 reads and writes.
/// @param token  of this start of the run; only its hash becomes visible to other users
/// @throws ConfigError where the layout asks for shared memory between hosts; CommError naming a
/// silent worker.
[[nodiscard]] Neighbours find_neighbours(const Job& job, TransportKind wanted,
                                         const std::string& token,
                                         const std::filesystem::path& run_directory,
                                         comm::Transport& transport, comm::Lane& lane);

}  // namespace gangway::worker
