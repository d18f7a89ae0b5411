// SPDX-License-Identifier: MIT
// How a job stands at one moment, as whoever asks is shown it: the control service and the live
// page. Filled by Conductor::status on the event loop's thread; a plain value, which may then go to
// any thread. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/layout/microbatch_ranges.hpp"
#include "report/tick.hpp"
#include "run/messages/messages.hpp"

namespace gangway::coordinator {

enum class JobPhase {
  kStarting,  ///< workers greet, choose a state and load it
  kTraining,
  kPausing,  ///< a pause was asked for; steps that were granted before are still trained
  kPaused,
  kStopping,  ///< saves, and leaves
  kEnded,
};

/// "training".
[[nodiscard]] std::string_view name_of(JobPhase phase);

/// One worker. What is said by the step is of the last tick, and 0 before the first.
struct WorkerStatus {
  int rank = 0;        ///< MPI rank, 1..W
  std::string host;    ///< empty until it has greeted
  std::string device;  ///< "cpu" or the GPU's name
  std::int64_t pid = 0;
  std::string state;             ///< expected, joined, ready, left, lost
  MicrobatchRange microbatches;  ///< that it computes
  std::string networks = {};     ///< Layout::held_by
  std::int64_t steps_done = 0;
  double work_seconds_per_step = 0;  ///< of a step: without the waits for others
  double wait_seconds_per_step = 0;  ///< for exchanges
  double data_seconds_per_step = 0;  ///< for the loader; part of the work
  messages::MemoryFigures memory = {};
  double sent_mib_per_step = 0;
  std::optional<messages::DeviceGauges> gauges = {};  ///< of its GPU
  bool is_straggler = false;  ///< its work takes far longer than the others', who wait for it
};

struct PauseStatus {
  double unix_seconds = 0;  ///< when it was asked for
  std::string by;           ///< "user@host"
};

struct CheckpointStatus {
  std::int64_t step = 0;
  double age_kimg = 0;  ///< thousand images since
  /// Since it was committed; nothing: it is of an earlier start.
  std::optional<double> age_seconds;
};

struct JobStatus {
  std::string run_directory;  ///< absolute
  std::string run_id;
  std::int64_t incarnation = 0;  ///< number of this start of the run
  std::int64_t restarts = 0;     ///< of the run, after the loss of a process or a host
  JobPhase phase = JobPhase::kStarting;
  double unix_seconds = 0;  ///< wall clock of this status
  double seconds_up = 0;    ///< since this start began
  std::string waits_for;    ///< until the first step is done (wait_before_first_step)
  std::int64_t step = 0;    ///< done by all
  std::int64_t total_steps = 0;
  double kimg = 0;
  double total_kimg = 0;
  double step_seconds = 0;       ///< median of the last; 0 before the first
  double images_per_second = 0;  ///< of the last tick, and by the median before one
  /// Until the last step; nothing while none is trained.
  std::optional<double> seconds_left;
  std::vector<report::NetworkLoss> losses;  ///< of the last step, in the order of the networks
  std::optional<report::Tick> tick;         ///< the last of this start, without its histograms
  std::vector<WorkerStatus> workers;        ///< by rank
  std::optional<PauseStatus> pause;
  std::optional<CheckpointStatus> checkpoint;  ///< the newest
  std::optional<std::int64_t> snapshot_step;   ///< of the newest that all workers have
  std::vector<std::string> pictures;           ///< files in the run directory, of this start
};

/// What a job that has trained no step of this start waits for: "rank 2, 3 to start".
[[nodiscard]] std::string wait_before_first_step(JobPhase phase,
                                                 const std::vector<WorkerStatus>& workers);

/// Marks the workers whose work in a step takes kStragglerFactor times the median of the others'.
void mark_stragglers(std::vector<WorkerStatus>& workers);

inline constexpr double kStragglerFactor = 1.25;

}  // namespace gangway::coordinator
