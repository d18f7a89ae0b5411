// SPDX-License-Identifier: MIT
// Loads the state that training begins with: asks the coordinator until all workers could load its
// choice. Compute thread; workers exchange messages on the lane.
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

/// Inputs of loading and of the snapshots after it.
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
  /// Folder of snapshots if they fit; else they lie in the run directory.
  std::filesystem::path shared_memory = kSharedMemoryFolder;
  /// One line for the log; any thread.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  std::chrono::milliseconds timeout{60'000};
  std::string run_id = {};       ///< run/run_start.hpp, like the next
  std::int64_t incarnation = 0;  ///< this start of the run
};

/// State that all workers have loaded.
struct BegunState {
  messages::Begin begin;
  SnapshotStore store;  ///< the run's snapshots on this host
  /// Step of the newest snapshot that is set aside for hosts that may return with their parts.
  std::optional<std::int64_t> step_aside = {};
};

/// Loads the state; all workers call it with networks that hold their initial values. Afterwards
/// this host has only snapshots of the loaded history, and those set aside.
/// @throws CheckpointError, ConfigError, CommError, StoppedByCoordinator
[[nodiscard]] BegunState begin_state(const StateSetup& setup);

}  // namespace gangway::worker
