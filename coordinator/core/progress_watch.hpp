// SPDX-License-Identifier: MIT
// Finds the rank that blocks all other ranks when steps stop arriving. Pure; owned by RunCore and
// used on the event loop's thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/numbers/min_max_tracker.hpp"
#include "base/rank.hpp"
#include "base/time.hpp"

namespace gangway::coordinator {

class ProgressWatch {
 public:
  /// @param floor  shortest silence that is a fault
  ProgressWatch(int num_workers, std::int64_t start_step, std::chrono::milliseconds floor);

  /// Records that `rank` has done `step` steps.
  void stepped(Rank rank, std::int64_t step, TimePoint now);
  /// Records that a lease from `begin` was granted: silence of an idle worker counts from now.
  void granted(std::int64_t begin, TimePoint now);
  /// Records a picture or a checkpoint part: its writer was busy, and the other workers waited.
  void note_activity(TimePoint now) { last_activity_ = now; }
  /// Records that `rank` has written more of a checkpoint to its disk.
  void wrote(Rank rank, TimePoint now) { since_[place(rank)] = now; }
  /// Counts `gap`, in which the coordinator itself did not run, as silence of no worker.
  void forgive(std::chrono::steady_clock::duration gap, TimePoint now);

  struct Silence {
    Rank rank{};
    std::int64_t step = 0;  ///< last step done
    double seconds = 0.0;
  };
  /// Returns the silence from which a worker is at fault.
  /// @param median_step_seconds  0: no step is known yet, and the first may take long
  [[nodiscard]] std::chrono::milliseconds deadline(double median_step_seconds) const;
  /// Returns the silence from which a note is printed. Before the first step, no silence is.
  [[nodiscard]] std::chrono::milliseconds notable(double median_step_seconds) const;
  /// Returns the worker with the fewest steps among those silent for longer than `limit`.
  /// @param extra  by rank: time allowed beyond `limit`, as for its disk; nothing: the worker is
  /// not expected to make progress
  template <typename Extra>
  [[nodiscard]] std::optional<Silence> find(TimePoint now, std::chrono::milliseconds limit,
                                            Extra extra) const {
    std::optional<Silence> worst;
    for (std::size_t place = 0; place < since_.size(); ++place) {
      if (!since_[place] || now - since_of(place) < limit) {
        continue;  // the usual case
      }
      const Rank rank = rank_of(WorkerIndex(static_cast<int>(place)));
      const auto silence = now - since_of(place);
      const std::optional<std::chrono::milliseconds> more = extra(rank);
      if (more && silence >= limit + *more && (!worst || done_[place] < worst->step)) {
        worst = Silence{rank, done_[place], std::chrono::duration<double>(silence).count()};
      }
    }
    return worst;
  }

  /// Steps done by `rank`. @pre 1 <= rank <= num_workers
  [[nodiscard]] std::int64_t done(Rank rank) const { return done_[place(rank)]; }
  /// Steps done by the fastest worker.
  [[nodiscard]] std::int64_t fastest_done() const { return done_.greatest(); }
  /// Steps done by the slowest worker.
  [[nodiscard]] std::int64_t slowest_done() const { return done_.least(); }

 private:
  [[nodiscard]] static std::size_t place(Rank rank) { return worker_of(rank).place(); }
  /// @pre since_[place] is set
  [[nodiscard]] TimePoint since_of(std::size_t place) const {
    return std::max(*since_[place], last_activity_);
  }

  std::chrono::milliseconds floor_;
  MinMaxTracker<std::int64_t> done_;  ///< steps done, by rank
  /// Time of the last step or write, or of new work after being idle; nothing: none yet.
  std::vector<std::optional<TimePoint>> since_;
  TimePoint last_activity_{};  ///< last sign of life that counts for all ranks in since_
};

}  // namespace gangway::coordinator
