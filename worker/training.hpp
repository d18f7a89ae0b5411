// SPDX-License-Identifier: MIT
// A worker's training from Welcome to the last lease. Compute thread.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/system/control_groups.hpp"
#include "comm/lane.hpp"
#include "comm/transport/transport.hpp"
#include "gan/data/contents/file_contents.hpp"
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

class Training {
 public:
  struct Setup {
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
  /// Loads what the coordinator chooses into the replica. All workers call it.
  /// @throws as worker/state/begin_state.hpp
  [[nodiscard]] static BegunState begin(const Setup& setup);
  /// Opens the data and meets the devices of all other workers. All of them call it.
  /// @throws ConfigError, EnvironmentError, CommError
  Training(const Setup& setup, const BegunState& begun);

  /// What the coordinator compares between workers before the first lease.
  [[nodiscard]] messages::Ready describe() const;
  /// As SnapshotService::keep_on_disk.
  void keep_snapshots(const std::function<void()>& progress) const noexcept {
    snapshots_.keep_on_disk(progress);
  }
  /// As SnapshotService::finish_healthy_files.
  void finish_healthy_files() noexcept { snapshots_.finish_healthy_files(); }
  /// Runs leases until the last one is done.
  void run();

 private:
  void run_lease(const messages::Lease& lease);
  void run_step(std::int64_t step, bool snapshot_follows);
  /// The checkpoint of a lease that runs no step, or of the last.
  void save_now(const messages::Lease& lease);
  /// Steps are recorded from now on, where the device can and nothing of the job speaks against it.
  void begin_graphs();
  /// A snapshot of the state as it is: waits for everything under way.
  void take_snapshot_now(std::int64_t steps_done);
  /// Puts the image pools where snapshots are taken of, if there are some.
  /// @param snapshot  the step of one that is copied behind training; nothing: none is
  void store_pools(std::int64_t steps_done, std::optional<std::int64_t> snapshot);
  void report(std::int64_t steps_done);
  /// Payload to other workers so far, whichever way: the device may send by itself.
  [[nodiscard]] std::uint64_t bytes_sent() const {
    return transport_.bytes_sent() + setup_.device.bytes_sent();
  }
  /// Sends the report that waits for its losses, if one does.
  void send_report();
  /// Of the exchanges awaited since the last call: one entry a phase (n_critic has several).
  [[nodiscard]] std::vector<messages::PhaseExposure> exposures();
  /// Ends the trace that is on and writes it.
  void end_trace();
  /// A disk that does not take it is a line.
  void try_to_write(const std::function<void()>& write) const;
  void write_pictures(std::int64_t steps_done);

  Setup setup_;
  std::int64_t first_step_;
  std::vector<pipeline::Phase> phases_;
  pipeline::PassShares shares_;
  pipeline::StepSchedules schedules_;
  MicrobatchRange local_;
  std::vector<SettingsChange> changes_;
  StepTrace trace_;
  StepClock clock_;
  std::optional<DeviceClock> device_clock_;  // once the thread's ledger has begun
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
  MarkedOperations marked_operations_;
  std::unique_ptr<GraphRecorder> recorder_;  // null: steps are not recorded
  std::optional<StepGraphs> graphs_;
  /// Of the last step, where a device may still be at it.
  struct UnsentReport {
    messages::Progress progress;
    StepLosses losses;
    bool has_histograms = false;  ///< of the step's logits
  };
  std::optional<UnsentReport> unsent_;
  std::uint64_t told_bytes_ = 0;  ///< sent, and reported or not to be
  SamplePictures pictures_;
};

}  // namespace gangway::worker
