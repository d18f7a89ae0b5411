// SPDX-License-Identifier: MIT
// One way to run a job, and what its runs came to. Made and measured by `gangway tune`. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace gangway::launch {

/// What one run tells of its steps behind the warm-up.
struct TrialRun {
  std::int64_t steps = 0;  ///< of the whole run
  double seconds = 0.0;    ///< of a step, mean
  /// Of it, of the slowest worker, or of its GPU (docs/step-parts.md).
  std::map<std::string, double> parts;
  std::map<std::string, double> numbers = {};  ///< means of all that ticks tell, by name
};

/// @param stats  a run's stats.jsonl. @throws EnvironmentError where it tells too little
[[nodiscard]] TrialRun trial_run(std::string_view stats, std::int64_t steps);

struct Trial {
  std::string name;
  int workers = 0;                ///< 0: as many as the job says
  std::vector<std::string> keys;  ///< besides what was typed
  bool changes_numbers = false;
  bool fills_cache = false;  ///< it is faster from its second look at a picture on
  std::vector<TrialRun> runs = {};
  std::string failure = {};  ///< why it cannot be run; empty: it can

  /// Seconds of a step, geometric mean of its runs: of trials that ran in turns, what one turn had
  /// the machine do besides meets all alike. @pre there is a run
  [[nodiscard]] double seconds() const;
  /// Share of a step of its last run that these parts are.
  [[nodiscard]] double share(std::initializer_list<std::string_view> parts) const;
};

/// `best` with the keys of `more` as well.
[[nodiscard]] Trial joined(Trial best, const Trial& more);

/// How many times as fast one is as the other.
struct Speedup {
  double gain = 1.0;   ///< geometric mean of the rounds
  double least = 1.0;  ///< with a confidence of 95 %
};

/// One-sided, by Student's distribution of the rounds' logarithms.
/// @param before, after  seconds of a step in each round, of which there are at least two
[[nodiscard]] Speedup speedup_of(std::span<const double> before, std::span<const double> after);

/// How many times as fast as another a trial has to be: what is less is not worth a key.
inline constexpr double kWorthIt = 1.01;
/// The trial with the fewest keys of those that the fastest does not beat by that beyond doubt.
/// @param trials  at least one; they have run in turns, at least twice
[[nodiscard]] const Trial& simplest_of_fastest(const std::vector<Trial>& trials);

/// Milliseconds a step of each part, the largest first, before and after; each line ended.
[[nodiscard]] std::string parts_table(const Trial& before, const Trial& after);
[[nodiscard]] nlohmann::json json_of(const Trial& trial);

/// One line on the fastest trial so far; empty where only `typed` has run.
[[nodiscard]] std::string so_far_text(const std::vector<Trial>& tried, const Trial& typed,
                                      double images_per_step);

}  // namespace gangway::launch
