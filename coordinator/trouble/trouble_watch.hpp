// SPDX-License-Identifier: MIT
// Detects training trouble before any loss is NaN: a loss far above its earlier values or its
// bound, a saturated discriminator, a generator whose images are alike. Losses that are not finite:
// coordinator/core/tick_accounting.hpp. Its memory is stored with the states that a start may begin
// with, so a resumed run detects the same (coordinator/trouble/watch_history.hpp). Pure; driven by
// RunCore.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "job/divergence.hpp"

namespace gangway::coordinator {

struct Trouble {
  std::int64_t step = 0;  ///< steps done when it showed
  std::string what;       ///< one line: step, network, remedy
};

struct WatchedNetwork {
  std::string name;
  bool judges = false;      ///< whether a loss near 0 means that nothing is left to learn
  double loss_bound = 0.0;  ///< loss size that is trouble if it lasts; 0: no bound
};

/// A TroubleWatch's memory of one network.
struct SeenFigures {
  std::deque<double> sizes = {};     ///< sizes of the last steps' losses
  std::optional<double> first = {};  ///< size of the first tick's loss
  std::int64_t saturated = 0;        ///< saturated ticks in a row
  std::int64_t alike = 0;            ///< steps in a row whose judged examples were too alike
  std::int64_t beyond = 0;           ///< steps in a row with a loss above its bound
  bool operator==(const SeenFigures&) const = default;
};

class TroubleWatch {
 public:
  /// Number of last losses whose median is compared with a step's loss.
  static constexpr std::size_t kMedianSteps = 101;
  /// Fewest losses for that comparison.
  static constexpr std::size_t kLeastSteps = 25;
  /// Steps in a row with a loss above its bound that are trouble; a single spike is not.
  static constexpr std::int64_t kBeyondSteps = 25;
  /// Share of its first loss below which a discriminator is saturated.
  static constexpr double kSaturated = 1e-4;

  /// @param networks  in loss order
  TroubleWatch(const DivergenceSpec& spec, std::vector<WatchedNetwork> networks);

  /// Checks a step that all workers have done. @param losses  step means, finite, by network
  [[nodiscard]] std::optional<Trouble> step(std::int64_t step, std::span<const double> losses);

  /// Checks a step for examples that are too alike. @param figures  step means, by name
  [[nodiscard]] std::optional<Trouble> step_figures(std::int64_t step,
                                                    const std::map<std::string, double>& figures);

  /// Checks a tick. Reports each stretch of saturation once.
  [[nodiscard]] std::optional<Trouble> tick(std::int64_t step, std::span<const double> losses);

  /// Whether the memory can lead to trouble, so that a new watch would behave differently.
  [[nodiscard]] bool remembers() const;
  /// Returns the whole memory, by network; a watch restored from it behaves the same.
  [[nodiscard]] const std::vector<SeenFigures>& seen() const { return seen_; }
  void go_on_from(const std::vector<SeenFigures>& seen) { seen_ = seen; }

 private:
  [[nodiscard]] std::optional<Trouble> beside_median(std::int64_t step, std::size_t network,
                                                     double loss);
  [[nodiscard]] std::optional<Trouble> beyond_bound(std::int64_t step, std::size_t network,
                                                    double loss);

  DivergenceSpec spec_;
  std::vector<WatchedNetwork> networks_;
  std::vector<SeenFigures> seen_;  ///< by network
};

}  // namespace gangway::coordinator
