// SPDX-License-Identifier: MIT
// Whether a run's memory will be enough, by what its first steps have needed: sooner than ticks
// tell, whose rule is memory-nearly-full (report/advice/machine_rules.cpp). Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "run/messages/gauges.hpp"

namespace gangway::coordinator {

class FirstMemory {
 public:
  /// Of a worker, the newest.
  struct Told {
    std::string host;
    messages::MemoryFigures figures;
    bool computes_on_gpu = false;
  };

  void tell(int rank, Told told) { workers_[rank] = std::move(told); }
  /// All workers have done `steps` of this start. @param rung  what to try next, next_exact_rung()
  /// @return one line, once, where more than nine tenths of a limit are in use with all workers of
  /// its host at their peaks; else nothing
  [[nodiscard]] std::string look(std::int64_t steps, const std::function<std::string()>& rung);
  /// Ticks tell from here on.
  void end() { is_over_ = true; }
  [[nodiscard]] bool is_over() const { return is_over_; }

 private:
  /// What workers may take of its limit, besides what they have, to be at their peaks again:
  /// pictures and snapshots were made in the first steps, or have their place.
  [[nodiscard]] double bytes_to_come(const Told& worker) const;

  std::map<int, Told> workers_;  ///< by rank
  std::int64_t looked_at_ = 0;   ///< steps
  bool is_over_ = false;
};

}  // namespace gangway::coordinator
