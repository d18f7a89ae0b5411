// SPDX-License-Identifier: MIT
// What `gangway bench checkpoint` reads from the runs that it has made, and the tables it makes of
// that. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gangway::bench {

inline constexpr double kMegabyte = 1e6;  // as disks are sold

/// Seconds, one for each checkpoint.
struct Stalls {
  std::vector<double> held;    ///< updates waited for the copy, the worker that waited most
  std::vector<double> copied;  ///< the lane of the slowest worker copied, beside the training
  std::vector<double> waited;  ///< compute waited more for the lane than in other steps
  std::vector<double> longer;  ///< the steps around it took longer than others, for any reason
};

/// A checkpoint written behind the training.
struct SaveFigures {
  double seconds = 0.0;  ///< from the whole snapshot to the committed manifest
  double bytes = 0.0;
};

/// Of one run, but for its first steps.
struct CheckpointRun {
  std::int64_t steps = 0;
  double seconds = 0.0;       ///< of all of them
  double step_seconds = 0.0;  ///< median of those without a snapshot
  Stalls stalls;
  std::vector<SaveFigures> saves;
};

/// @param stats  a run's stats.jsonl, a tick a step. A snapshot is reported by the step during
/// which it became whole, or the one after it: so the two steps that end with the report are looked
/// at.
/// @throws EnvironmentError where no step is left, or a line is none of a tick.
[[nodiscard]] CheckpointRun checkpoint_run(std::string_view stats, std::int64_t warmup_steps);

/// Seconds of copying a state in memory, no training beside it, the slowest worker's.
struct CopyTimes {
  double plain = 0.0;     ///< memcpy
  double snapshot = 0.0;  ///< with the hashes, into a snapshot's slot
};

/// Seconds for one state between memory and disk, no training beside it.
struct StoreTimes {
  double plain_write = 0.0;  ///< direct writes of 4 MiB, synced
  double save = 0.0;         ///< from the whole snapshot to the committed manifest
  double plain_read = 0.0;   ///< direct reads of 4 MiB
  double load = 0.0;         ///< chunk by chunk, every one verified
};

/// One row of somebody else's benchmark: `name` and the stalls of its saves.
struct RivalRow {
  std::string name;
  std::vector<double> stalls;  ///< seconds
};

/// All rounds with one size of state.
struct CheckpointRounds {
  double state_bytes = 0.0;
  int every_steps = 50;
  std::vector<CheckpointRun> with;
  std::vector<CheckpointRun> without;  ///< checkpoints; a round each
  std::vector<CopyTimes> copies;
  std::vector<StoreTimes> stores;
  std::vector<RivalRow> rivals;
};

/// The p-th percentile by nearest rank. @pre values is not empty, 0 < p <= 100.
[[nodiscard]] double percentile(std::vector<double> values, double p);

/// Stalls with their percentiles and their share of the time, beside the copies in memory and the
/// rivals.
[[nodiscard]] std::string stall_table(const CheckpointRounds& rounds);
/// One line: steps a second with and without checkpoints, and the ratio of the rounds.
[[nodiscard]] std::string speed_line(const CheckpointRounds& rounds);
/// The store beside the disk: MB/s, and shares of the plain figure of the same turn.
[[nodiscard]] std::string store_table(const CheckpointRounds& rounds);
/// Adds the JSON lines {"row": name, "stalls": [seconds, …]} of a rival to the rows so far.
/// @throws EnvironmentError naming a line that is none.
void add_rivals(std::string_view lines, std::vector<RivalRow>& rows);

}  // namespace gangway::bench
