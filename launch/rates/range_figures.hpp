// SPDX-License-Identifier: MIT
// The learning rate range test (Smith, 2017, section 3.3) as figures: what `gangway find-lr` reads
// from the run that it has made, what it concludes, and the table it prints. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gangway::launch {

/// Of a run whose ticks are its steps.
struct RangeCurve {
  struct Network {
    std::string name;
    std::vector<double> losses;  ///< by step, smoothed: a mean over the steps so far that fades
  };
  std::vector<double> rates;      ///< by step
  std::vector<Network> networks;  ///< those that have a loss, in the order of the job
  std::size_t window = 1;         ///< steps that the smoothed losses are means over, about
};

/// A place of the curve.
struct RangePoint {
  std::string network;
  std::size_t step = 0;  ///< from 0; the number of steps where the run ended there
  double rate = 0.0;
};

struct RangeVerdict {
  /// From which rate on a loss explodes, or where the run diverged; nothing: it never came to that.
  std::optional<RangePoint> diverged;
  std::vector<RangePoint> steepest;  ///< where a network's loss falls fastest, if it falls
  /// kBelowSteepest times below the lowest of those, kBelowDivergence below the divergence at most;
  /// 0: none.
  double suggested = 0.0;
  std::optional<RangePoint> bound;    ///< of `steepest`, from which that follows
  std::optional<RangePoint> suffers;  ///< the other network's loss there, why none is suggested
};

/// Rates where a loss falls fastest, or diverges, over those that are suggested.
inline constexpr double kBelowSteepest = 4.0;
inline constexpr double kBelowDivergence = 10.0;

/// How often its best a loss may rise above it where another one's falls, before it suffers.
inline constexpr double kSuffers = 4.0;

/// How often a best loss a loss may rise above it, before it is said to explode: adversaries'
/// losses rise a few times over while all is well.
inline constexpr double kExploded = 10.0;

/// @param stats  the run's stats.jsonl
/// @param names  of the networks
/// @param rates  by step of the whole test, at least as many as the run had
/// @throws EnvironmentError where a line is none of a step
[[nodiscard]] RangeCurve range_curve(std::string_view stats, const std::vector<std::string>& names,
                                     const std::vector<double>& rates);

/// @param tested         networks whose rate rises
/// @param diverged_rate  of the step that had a loss that is not finite; nothing: all were
[[nodiscard]] RangeVerdict judge_range(const RangeCurve& curve,
                                       const std::vector<std::string>& tested,
                                       std::optional<double> diverged_rate);

/// About `rows` steps of the curve, equally far apart.
[[nodiscard]] std::string range_table(const RangeCurve& curve, std::size_t rows);

/// The verdict for people, a line each. @param last_rate  that the test came to
[[nodiscard]] std::string range_verdict_text(const RangeVerdict& verdict, double last_rate);

}  // namespace gangway::launch
