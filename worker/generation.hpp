// SPDX-License-Identifier: MIT
// Holds a worker's objects of one epoch, in which workers and their networks are fixed: memory
// shared on the host, device, networks, training. It ends with its last lease. Link, lane and
// snapshots in shared memory outlive it, so that another layout may begin in the same process.
// Compute thread.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/shared_segment.hpp"
#include "worker/replica.hpp"
#include "worker/step/compute_device.hpp"
#include "worker/step/neighbours.hpp"
#include "worker/training.hpp"

namespace gangway::worker {

/// All of these outlive the generation.
struct GenerationSetup {
  const Job& job;
  const RunOptions& options;
  const messages::Welcome& welcome;
  CoordinatorLink& link;
  comm::Transport& transport;  ///< of the epoch
  comm::Lane& lane;
  const DeviceMaker& make;
  std::function<void(const std::string&)> on_stall = {};      ///< lane thread
  std::filesystem::path shared_memory = kSharedMemoryFolder;  ///< of the snapshots
  std::filesystem::path index_folder = {};                    ///< as in TrainingSetup
  std::filesystem::path control_groups = kControlGroups;      ///< likewise
};

class Generation {
 public:
  explicit Generation(GenerationSetup setup) : setup_(std::move(setup)), job_(setup_.job) {}
  ~Generation();
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  /// Prepares everything up to the first lease. All workers call it. If it fails, nothing is
  /// destroyed before this object is, because open receives still point into it.
  /// @return the facts that the coordinator compares between workers
  /// @throws as Replica, Training
  messages::Ready begin(Neighbours neighbours);
  /// @pre begun
  [[nodiscard]] const ComputeDevice& device() const { return *device_; }
  [[nodiscard]] const BegunState& begun() const { return *begun_; }
  /// Returns null before begin() and after end().
  [[nodiscard]] Training* training() { return training_ ? &*training_ : nullptr; }
  /// Detaches the exchanges from the lane and unmaps the host's memory, after the last lease.
  void end();

 private:
  GenerationSetup setup_;
  Job job_;  ///< with data.threads as a number
  std::unique_ptr<ComputeDevice> device_;
  std::optional<Replica> replica_;
  std::optional<BegunState> begun_;
  std::optional<Training> training_;
};

}  // namespace gangway::worker
