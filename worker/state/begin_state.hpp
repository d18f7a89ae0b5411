// SPDX-License-Identifier: MIT
// What training begins with: the coordinator is asked until all workers could load what it names.
// Compute thread; what travels between workers does so on the lane.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/shared_segment.hpp"
#include "comm/lane.hpp"
#include "comm/transport/transport.hpp"
#include "job/spec.hpp"
#include "worker/link/state_link.hpp"
#include "worker/state/load_from_snapshot.hpp"
#include "worker/state/network_state.hpp"

namespace gangway::worker {

/// What loading, and the snapshots after it, have to know of a worker.
struct StateSetup {
  const Job& job;
  const RunOptions& options;
  std::string job_fingerprint;
  std::filesystem::path run_directory;
  StateLink& link;
  std::vector<NetworkState*> networks;  ///< in the job's order
  comm::Transport& transport;
  comm::Lane& lane;
  int workers_on_machine = 1;
  std::vector<int> hosts = {};  ///< by worker: equal where memory is shared; empty: one host
  /// Where snapshots lie if they fit; else in the run directory.
  std::filesystem::path shared_memory = kSharedMemoryFolder;
  /// One line for the log; any thread.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  std::chrono::milliseconds timeout{60'000};
  std::string run_id = {};       ///< run/run_start.hpp, as the next
  std::int64_t incarnation = 0;  ///< this start of the run
};

/// What all workers have loaded.
struct BegunState {
  messages::Begin begin;
  SnapshotShelf shelf;  ///< where the run's snapshots lie on this host
  /// Of the newest of them that is set aside, for other hosts that come back with their parts.
  std::optional<std::int64_t> step_aside = {};
};

/// All workers call it, with networks that hold their initial values. Afterwards no snapshot of
/// another past than the one that begins is left on this host, but what is set aside.
/// @throws CheckpointError, ConfigError, CommError, StoppedByCoordinator
[[nodiscard]] BegunState begin_state(const StateSetup& setup);

}  // namespace gangway::worker
