// SPDX-License-Identifier: MIT
// Whether a run's memory grows from tick to tick, and how fast. Pure.
#pragma once

#include <deque>

#include <nlohmann/json_fwd.hpp>

namespace gangway::report {

/// What grows a little in each tick, and not only while a run warms up.
class MemoryGrowth {
 public:
  /// @param tick  as a line of stats.jsonl has it; one without memory is passed over
  void add(const nlohmann::json& tick);
  /// GiB an hour by which the workers' memory, and what is used of the narrowest limit, have both
  /// grown at least in each part of the last ticks; 0: they have not.
  [[nodiscard]] double gib_per_hour() const;

 private:
  struct Moment {
    double seconds = 0.0;
    double own_gib = 0.0;   ///< of all workers
    double used_gib = 0.0;  ///< of the limit
  };
  std::deque<Moment> moments_;  ///< newest last
};

}  // namespace gangway::report
