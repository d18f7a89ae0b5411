// SPDX-License-Identifier: MIT
// Who gets on: finds the rank for which all others wait when steps stop coming. Pure; owned by the
// Conductor and used on the coordinator's event loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>

#include "base/time.hpp"

namespace gangway::coordinator {

class ProgressWatch {
 public:
  /// @param floor  least silence that counts
  ProgressWatch(int num_workers, std::int64_t start_step, std::chrono::milliseconds floor);

  /// `rank` has done `step` steps.
  void stepped(int rank, std::int64_t step, TimePoint now);
  /// A lease that begins at `begin` is out: a worker that had nothing to do has not been silent for
  /// long.
  void granted(std::int64_t begin, TimePoint now);
  /// A picture or a part of a checkpoint came: its writer was busy, and the others waited for it.
  void lively(TimePoint now);
  /// `rank` has brought more of a checkpoint to its disk.
  void wrote(int rank, TimePoint now) { since_[rank] = now; }
  /// The coordinator itself stood still for `gap`: that is nobody's silence.
  void forgive(std::chrono::steady_clock::duration gap, TimePoint now);

  struct Silence {
    int rank = 0;
    std::int64_t step = 0;  ///< last done
    double seconds = 0.0;
  };
  /// How long a silence is a fault. @param median_step_seconds  0: no step is known yet, and the
  /// first may take long
  [[nodiscard]] std::chrono::milliseconds deadline(double median_step_seconds) const;
  /// How long a silence is worth a word. Before the first step, none is.
  [[nodiscard]] std::chrono::milliseconds notable(double median_step_seconds) const;
  /// The furthest behind of those whose silence lasts longer than `limit`.
  /// @param extra  by rank: what it has beyond that, a disk to wait for, say; nothing: it is not
  /// expected to get on
  template <typename Extra>
  [[nodiscard]] std::optional<Silence> find(TimePoint now, std::chrono::milliseconds limit,
                                            Extra extra) const {
    std::optional<Silence> worst;
    for (const auto& [rank, since] : since_) {
      const std::int64_t step = done_.at(rank);
      const std::optional<std::chrono::milliseconds> more = extra(rank);
      if (more && now - since >= limit + *more && (!worst || step < worst->step)) {
        worst = Silence{rank, step, std::chrono::duration<double>(now - since).count()};
      }
    }
    return worst;
  }

  /// Steps done by `rank`. @pre 1 <= rank <= num_workers
  [[nodiscard]] std::int64_t done(int rank) const { return done_.at(rank); }
  /// Steps done by the one that is furthest ahead.
  [[nodiscard]] std::int64_t fastest_done() const;
  /// And by the one that is furthest behind.
  [[nodiscard]] std::int64_t slowest_done() const;

 private:
  std::chrono::milliseconds floor_;
  std::map<int, std::int64_t> done_;  ///< steps done, by rank
  std::map<int, TimePoint> since_;    ///< last sign of life, or new steps after being idle
};

}  // namespace gangway::coordinator
