// SPDX-License-Identifier: MIT
// A job's status at one moment, for the control service and the live page. Filled by
// RunCore::status on the event loop's thread; a plain value that may be passed to any thread.
// Pure.
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
  kStarting,  ///< workers say Hello, agree on a state and load it
  kTraining,
  kPausing,  ///< pause requested; granted steps are still trained
  kPaused,
  kStopping,  ///< saves the state and ends
  kEnded,
};

/// Returns the phase's name, such as "training".
[[nodiscard]] std::string_view name_of(JobPhase phase);

/// Status of one worker. Values per step are of the last tick, 0 before the first.
struct WorkerStatus {
  Rank rank{};         ///< MPI rank, 1..W
  std::string host;    ///< empty until its Hello
  std::string device;  ///< "cpu" or the GPU's name
  std::int64_t pid = 0;
  std::string state;             ///< expected, joined, ready, left, lost
  MicrobatchRange microbatches;  ///< its micro-batches
  std::string networks = {};     ///< Layout::held_by
  std::int64_t steps_done = 0;
  double work_seconds_per_step = 0;  ///< without waits for others
  double wait_seconds_per_step = 0;  ///< waits for exchanges
  double data_seconds_per_step = 0;  ///< waits for the loader; part of work_seconds_per_step
  messages::MemoryFigures memory = {};
  double sent_mib_per_step = 0;
  std::optional<messages::DeviceGauges> gauges = {};  ///< of the worker's GPU
  bool is_straggler = false;  ///< its work takes far longer than the others', which wait for it
};

struct PauseStatus {
  double unix_seconds = 0;  ///< time of the request
  std::string by;           ///< author: "user@host"
};

struct CheckpointStatus {
  std::int64_t step = 0;
  double age_kimg = 0;  ///< thousand images since
  /// Seconds since its commit; nothing: it is of an earlier start.
  std::optional<double> age_seconds;
};

struct JobStatus {
  std::string run_directory;  ///< absolute
  std::string run_id;
  std::int64_t incarnation = 0;  ///< number of this start of the run
  std::int64_t restarts = 0;     ///< of the run, after losses of processes or hosts
  JobPhase phase = JobPhase::kStarting;
  double unix_seconds = 0;  ///< wall clock at this status
  double seconds_up = 0;    ///< since this start began
  std::string waits_for;    ///< until the first step is done: wait_before_first_step()
  std::int64_t step = 0;    ///< steps done by all workers
  std::int64_t total_steps = 0;
  double kimg = 0;
  double total_kimg = 0;
  double step_seconds = 0;       ///< median of the last steps; 0 before the first
  double images_per_second = 0;  ///< of the last tick; before the first, by the median step
  /// Seconds until the last step; nothing while no step is trained.
  std::optional<double> seconds_left;
  std::vector<report::NetworkLoss> losses;  ///< of the last step, in network order
  std::optional<report::Tick> tick;         ///< this start's last tick, without histograms
  std::vector<WorkerStatus> workers;        ///< by rank
  std::optional<PauseStatus> pause;
  std::optional<CheckpointStatus> checkpoint;  ///< the newest
  std::optional<std::int64_t> snapshot_step;   ///< newest snapshot of all workers
  std::vector<std::string> pictures;           ///< this start's files in the run directory
};

/// Returns what a job before this start's first step waits for: "rank 2, 3 to start".
[[nodiscard]] std::string wait_before_first_step(JobPhase phase,
                                                 const std::vector<WorkerStatus>& workers);

/// Marks workers whose work per step takes kStragglerFactor times the others' median.
void mark_stragglers(std::vector<WorkerStatus>& workers);

inline constexpr double kStragglerFactor = 1.25;

}  // namespace gangway::coordinator
