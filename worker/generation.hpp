// SPDX-License-Identifier: MIT
// What a worker holds under one agreement on who trains what (an epoch): memory that its host's
// workers share, a device, the networks on it, and their training. It ends with its last lease;
// the link, the lane and the snapshots in shared memory outlive it, so that another layout, of
// other workers, may begin with them in the same process. Compute thread.
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

class Generation {
 public:
  /// All of it outlives the generation.
  struct Setup {
    const Job& job;
    const RunOptions& options;
    const messages::Welcome& welcome;
    CoordinatorLink& link;
    comm::Transport& transport;  ///< of the epoch
    comm::Lane& lane;
    const DeviceMaker& make;
    std::function<void(const std::string&)> on_stall = {};      ///< lane thread
    std::filesystem::path shared_memory = kSharedMemoryFolder;  ///< of the snapshots
    std::filesystem::path index_folder = {};                    ///< as of Training::Setup
    std::filesystem::path control_groups = kControlGroups;      ///< likewise
  };
  explicit Generation(Setup setup) : setup_(std::move(setup)), job_(setup_.job) {}
  ~Generation();
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  /// Until the coordinator may grant leases. All workers call it. Where it fails nothing is
  /// destroyed before this is: open receives still point into it.
  /// @return what the coordinator compares between workers
  /// @throws as Replica, Training
  messages::Ready begin(Neighbours neighbours);
  /// @pre begun
  [[nodiscard]] const ComputeDevice& device() const { return *device_; }
  [[nodiscard]] const BegunState& begun() const { return *begun_; }
  /// Null before it has begun, and behind its end.
  [[nodiscard]] Training* training() { return training_ ? &*training_ : nullptr; }
  /// All leases are done: the lane lets go of the exchanges, the host's memory is unmapped.
  void end();

 private:
  Setup setup_;
  Job job_;  ///< with data.threads as a number
  std::unique_ptr<ComputeDevice> device_;
  std::optional<Replica> replica_;
  std::optional<BegunState> begun_;
  std::optional<Training> training_;
};

}  // namespace gangway::worker
