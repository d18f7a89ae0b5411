// SPDX-License-Identifier: MIT
// Runs a worker's training from Welcome to the last lease. Compute thread.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/system/control_groups.hpp"
#include "comm/lane.hpp"
#include "comm/transport/transport.hpp"
#include "data/contents/file_contents.hpp"
#include "job/decisions.hpp"
#include "job/spec.hpp"
#include "pipeline/stages/step_schedules.hpp"
#include "worker/link/coordinator_link.hpp"
#include "worker/memory/memory_watch.hpp"
#include "worker/replica.hpp"
#include "worker/state/snapshot_service.hpp"
#include "worker/step/group_setups.hpp"
#include "worker/step/sample_pictures.hpp"
#include "worker/step/step_graphs.hpp"
#include "worker/step/step_operations.hpp"
#include "worker/trace/device_clock.hpp"
#include "worker/trace/step_clock.hpp"
#include "worker/trace/step_trace.hpp"

namespace gangway::worker {

struct TrainingSetup {
  const Job& job;
  const RunOptions& options;
  const messages::Welcome& welcome;
  CoordinatorLink& link;
  comm::Transport& transport;
  comm::Lane& lane;
  ComputeDevice& device;
  Replica& replica;                                       ///< placed on that device
  std::function<void(const std::string&)> on_stall = {};  ///< lane thread
  int workers_on_machine = 1;
  std::filesystem::path shared_memory = kSharedMemoryFolder;  ///< of the snapshots
  std::filesystem::path index_folder = {};                    ///< as of data::ContentsCheck
  std::filesystem::path control_groups = kControlGroups;      ///< where they are mounted
};

class Training {
 public:
  /// Loads the state that the coordinator chooses. All workers call it.
  /// @throws as worker/state/begin_state.hpp
  [[nodiscard]] static BegunState begin(const TrainingSetup& setup);
  /// Opens the data and connects to all workers' devices. All workers call it.
  /// @throws ConfigError, EnvironmentError, CommError
  Training(const TrainingSetup& setup, const BegunState& begun);

  /// Returns the facts that the coordinator compares between workers before the first lease.
  [[nodiscard]] messages::Ready describe() const;
  /// See SnapshotService::keep_on_disk.
  void keep_snapshots(const std::function<void()>& progress) const noexcept {
    snapshots_.keep_on_disk(progress);
  }
  /// See SnapshotService::finish_healthy_files.
  void finish_healthy_files() noexcept { snapshots_.finish_healthy_files(); }
  /// Runs leases until the last one is done.
  void run();

 private:
  void run_lease(const messages::Lease& lease);
  void run_step(std::int64_t step, bool snapshot_follows);
  /// Runs the step's list. If an instruction fails, logs the list and the instruction.
  void perform(const std::vector<pipeline::Instruction>& schedule, std::int64_t step);
  /// Saves the checkpoint of a lease without steps, or of the last lease.
  void save_now(const messages::Lease& lease);
  /// Begins to record steps; null: the device cannot, or the job allows no recording.
  [[nodiscard]] std::unique_ptr<StepGraphs> make_graphs();
  [[nodiscard]] pipeline::Operations& performer() {
    return graphs_ ? static_cast<pipeline::Operations&>(*graphs_) : operations_;
  }
  /// Takes a snapshot of the present state: waits for everything under way.
  void take_snapshot_now(std::int64_t steps_done);
  /// Copies the image pools to the memory from which snapshots are taken, if there are any.
  /// @param snapshot  step of a snapshot that is copied during training; nothing: none
  void store_pools(std::int64_t steps_done, std::optional<std::int64_t> snapshot);
  void report(std::int64_t steps_done);
  /// Returns the payload bytes sent to other workers so far, by the transport and by the device.
  [[nodiscard]] std::uint64_t bytes_sent() const {
    return transport_.bytes_sent() + setup_.device.bytes_sent();
  }
  /// Sends the report that waits for its losses, if there is one.
  void send_report();
  /// Returns the exposures since the last call, one per phase (n_critic has several exchanges).
  [[nodiscard]] std::vector<messages::PhaseExposure> exposures();
  /// Ends the active trace and writes it.
  void end_trace();
  /// Calls `write`; a disk failure only prints a line.
  void try_to_write(const std::function<void()>& write) const;
  void write_pictures(std::int64_t steps_done);

  TrainingSetup setup_;
  std::int64_t first_step_;
  std::vector<pipeline::Phase> phases_;
  pipeline::PassShares shares_;
  pipeline::StepSchedules schedules_;
  MicrobatchRange local_;
  std::vector<SettingsChange> changes_;
  StepTrace trace_;
  StepClock clock_;
  std::optional<DeviceClock> device_clock_;  // set once the thread's ledger has begun
  comm::Transport& transport_;
  MemoryWatch memory_;
  data::ContentsCheck contents_;
  std::unique_ptr<data::Dataset> dataset_;
  SnapshotService snapshots_;
  GroupSetups groups_;
  const ExchangeSetup& exchange_;
  RealBatches reals_;
  std::optional<comm::HostStreams> streams_;  // with workers of this host, where networks are apart
  std::unique_ptr<RemoteTensors> remote_;     // null: networks are not apart
  StepOperations operations_;
  std::unique_ptr<StepGraphs> graphs_;  // null: steps are not recorded
  TracedOperations traced_operations_;
  /// Report of the last step, whose losses a device may still compute.
  struct UnsentReport {
    messages::Progress progress;
    StepLosses losses;
    bool has_histograms = false;  ///< whether logits have some
  };
  std::optional<UnsentReport> unsent_;
  std::uint64_t reported_bytes_ = 0;  ///< bytes sent that need no further report
  SamplePictures pictures_;
};

}  // namespace gangway::worker
