// SPDX-License-Identifier: MIT
// Predicts from the first steps whether a run's memory is enough, before the ticks' rule
// memory-nearly-full can (report/advice/machine_rules.cpp). Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/index.hpp"
#include "run/messages/gauges.hpp"

namespace gangway::coordinator {

class EarlyMemoryCheck {
 public:
  /// A worker's newest report.
  struct MemoryReport {
    std::string host;
    messages::MemoryFigures figures;
    bool computes_on_gpu = false;
  };

  void tell(Rank rank, MemoryReport told) { workers_[rank] = std::move(told); }
  /// Checks the memory after all workers have done `steps` of this start.
  /// @param rung  the next remedy, next_exact_rung()
  /// @return one line, once, if a host's workers at their peaks use over nine tenths of a limit
  [[nodiscard]] std::string look(std::int64_t steps, const std::function<std::string()>& rung);
  /// Ends the checks, because ticks take over.
  void end() { is_over_ = true; }
  [[nodiscard]] bool is_over() const { return is_over_; }

 private:
  /// Returns the bytes that workers under the same limit still need to reach their peaks again. The
  /// peaks include pictures and snapshots, which the first steps made or reserved.
  [[nodiscard]] double bytes_to_come(const MemoryReport& worker) const;

  std::map<Rank, MemoryReport> workers_;  ///< by rank
  std::int64_t looked_at_ = 0;            ///< steps at the last check
  bool is_over_ = false;
};

}  // namespace gangway::coordinator
