// SPDX-License-Identifier: MIT
// Derives advice for a faster run from its ticks: evidence, remedy, estimated gain. Called by
// `gangway advise` for a run's records and by the coordinator at every tick. Pure.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "report/advice/memory_growth.hpp"

namespace gangway::report {

struct Advice {
  std::string rule;               ///< "decode-bound"
  std::string evidence;           ///< figures of the ticks
  std::vector<std::string> keys;  ///< keys to apply unchanged: "data.cache=auto"
  std::string remedy;             ///< the keys and further remedies
  double gain = 1.0;              ///< speed-up factor if the cost in `evidence` were 0
  bool changes_numbers = false;   ///< applies to new jobs only
  bool needs_restart = true;      ///< false: can be applied during the run
};

/// "decode-bound: waits …: data.cache=auto (about 1.47 times as fast; the same numbers; …)"
[[nodiscard]] std::string advice_line(const Advice& advice);

/// Returns the advice as JSON.
[[nodiscard]] nlohmann::json json_of(const Advice& advice);

class AdviceTracker {
 public:
  /// @param keys  of the job, from report::advice_keys()
  explicit AdviceTracker(std::map<std::string, std::string> keys) : keys_(std::move(keys)) {}

  /// Adds a tick, a line of stats.jsonl. @return new advice: seen in three of the last four ticks.
  /// Drops an advice that was seen in less than half of as many.
  std::vector<Advice> add(const nlohmann::json& tick);
  /// Returns the current advice, greatest gain first.
  [[nodiscard]] std::vector<Advice> current() const;
  /// Returns the share of a step, 0 to 1, spent on compute over the last ticks; 0 if no tick has
  /// parts. It remains when no advice holds.
  [[nodiscard]] double computing() const;

 private:
  struct Watched {
    std::deque<double> shares;  ///< of the last ticks, newest last
    bool is_on = false;
    Advice advice;  ///< as of the newest tick
  };

  std::map<std::string, std::string> keys_;
  std::map<std::string, Watched> watched_;  ///< by rule
  MemoryGrowth growth_;
  std::deque<double> computing_;
};

}  // namespace gangway::report
