// SPDX-License-Identifier: MIT
// Sees in the figures of steps and ticks that training is in trouble, where no loss has to be NaN
// for it: a loss far above what it was, or beyond all that such a loss says anything of, a
// discriminator that has nothing left to learn, a generator that makes the same again and again. A
// loss that is not finite is found by coordinator/mind/tick_accounting.hpp. What it remembers of
// earlier steps goes with the states that a start may begin with
// (coordinator/trouble/watch_memory.hpp), so that what it finds does not depend on where one began.
// Pure; driven by the Conductor.
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
  std::int64_t step = 0;  ///< steps done when it was there
  std::string what;       ///< one line: step, network, remedy
};

struct WatchedNetwork {
  std::string name;
  bool judges = false;      ///< whether nothing is left to learn from it once its loss is nothing
  double loss_bound = 0.0;  ///< size of its loss that is trouble where it stays so; 0: none is
};

/// What a TroubleWatch remembers of one network.
struct SeenFigures {
  std::deque<double> sizes = {};     ///< of the last steps' losses
  std::optional<double> first = {};  ///< size of the first tick's
  std::int64_t saturated = 0;        ///< ticks in a row
  std::int64_t alike = 0;            ///< steps in a row in which what it judged was too much alike
  std::int64_t beyond = 0;           ///< steps in a row in which its loss was above its bound
  bool operator==(const SeenFigures&) const = default;
};

class TroubleWatch {
 public:
  /// Losses whose median a step's is compared with.
  static constexpr std::size_t kMedianSteps = 101;
  /// Fewer tell nothing.
  static constexpr std::size_t kLeastSteps = 25;
  /// In a row with a loss above its bound: a single spike is none of it.
  static constexpr std::int64_t kBeyondSteps = 25;
  /// Share of its first loss below which a discriminator has nothing left to learn.
  static constexpr double kSaturated = 1e-4;

  /// @param networks  in the order of their losses
  TroubleWatch(const DivergenceSpec& spec, std::vector<WatchedNetwork> networks);

  /// All have done it. @param losses  means over the step, finite, by network
  [[nodiscard]] std::optional<Trouble> step(std::int64_t step, std::span<const double> losses);

  /// The same of how much examples differ. @param figures  means over the step, by name
  [[nodiscard]] std::optional<Trouble> step_figures(std::int64_t step,
                                                    const std::map<std::string, double>& figures);

  /// The same of a tick. Each stretch of saturation is told of once.
  [[nodiscard]] std::optional<Trouble> tick(std::int64_t step, std::span<const double> losses);

  /// Whether trouble may follow of what it remembers: a watch that begins anew would be another.
  [[nodiscard]] bool remembers() const;
  /// All of it, by network: from there another one goes on as this one would.
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
