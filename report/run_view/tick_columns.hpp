// SPDX-License-Identifier: MIT
// Stores a run's ticks as columns of numbers and thins them for plots. Called by RunView; one
// thread per object.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace gangway::report {

class TickColumns {
 public:
  /// Adds a line of stats.jsonl: every number becomes a column, also under a new name. "exposed"
  /// gives the seconds per step as "exposed.PHASE".
  void add(const nlohmann::json& tick);
  void clear();

  [[nodiscard]] std::size_t size() const { return size_; }
  /// Returns the newest tick's number; nothing if it is missing or not finite.
  [[nodiscard]] std::optional<double> last(std::string_view name) const;
  /// Returns the mean over the newest ticks, at most `count` of them.
  [[nodiscard]] std::optional<double> recent_mean(std::string_view name, std::size_t count) const;

  /// Returns {"kimg": [...], ...}, all of one length; null where a tick lacks the number.
  ///
  /// Above `most` ticks, each group of neighbours gives two numbers per column: minimum and maximum
  /// in order of time, so that no spike is lost. A growing column thus gives first and last. Rounds
  /// to six digits, except times.
  [[nodiscard]] nlohmann::ordered_json json(std::size_t most) const;

 private:
  using Column = std::vector<double>;  ///< NaN: no number
  void set(const std::string& name, double value);
  [[nodiscard]] const Column* find(std::string_view name) const;

  std::vector<std::pair<std::string, Column>> columns_;  // in the order of their first numbers
  std::size_t size_ = 0;
};

}  // namespace gangway::report
