// SPDX-License-Identifier: MIT
// Who gets on: finds the rank for which all others wait when steps stop coming. Pure; owned by the
// Conductor and used on the coordinator's event loop.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/numbers/standings.hpp"
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
  void wrote(int rank, TimePoint now) { since_[place(rank)] = now; }
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
    for (std::size_t place = 0; place < since_.size(); ++place) {
      if (!since_[place] || now - since_of(place) < limit) {
        continue;  // most of them, at most times
      }
      const int rank = static_cast<int>(place) + 1;
      const auto silence = now - since_of(place);
      const std::optional<std::chrono::milliseconds> more = extra(rank);
      if (more && silence >= limit + *more && (!worst || done_[place] < worst->step)) {
        worst = Silence{rank, done_[place], std::chrono::duration<double>(silence).count()};
      }
    }
    return worst;
  }

  /// Steps done by `rank`. @pre 1 <= rank <= num_workers
  [[nodiscard]] std::int64_t done(int rank) const { return done_[place(rank)]; }
  /// Steps done by the one that is furthest ahead.
  [[nodiscard]] std::int64_t fastest_done() const { return done_.greatest(); }
  /// And by the one that is furthest behind.
  [[nodiscard]] std::int64_t slowest_done() const { return done_.least(); }

 private:
  [[nodiscard]] static std::size_t place(int rank) { return static_cast<std::size_t>(rank - 1); }
  /// @pre there is a sign of life
  [[nodiscard]] TimePoint since_of(std::size_t place) const {
    return std::max(*since_[place], lively_);
  }

  std::chrono::milliseconds floor_;
  Standings<std::int64_t> done_;  ///< steps done, by rank
  /// Last sign of life, or new steps after being idle; nothing: none yet.
  std::vector<std::optional<TimePoint>> since_;
  TimePoint lively_{};  ///< a sign of life of all that have given one
};

}  // namespace gangway::coordinator
