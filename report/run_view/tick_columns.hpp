// SPDX-License-Identifier: MIT
// The ticks of a run as columns of numbers, and few enough of them to draw. Used by RunView; one
// thread each.
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
  /// One line of stats.jsonl: each of its numbers, and of "exposed" the seconds a step under
  /// "exposed.PHASE". What is there by another name tomorrow becomes a column too.
  void add(const nlohmann::json& tick);
  void clear();

  [[nodiscard]] std::size_t size() const { return size_; }
  /// Of the newest tick; nothing where it has none, or one that is not finite.
  [[nodiscard]] std::optional<double> last(std::string_view name) const;
  /// Mean of the newest ticks, at most `count` of them.
  [[nodiscard]] std::optional<double> recent_mean(std::string_view name, std::size_t count) const;

  /// {"kimg": [...], ...}, all of one length; null where a tick has no such number.
  ///
  /// Above `most` ticks, neighbours are put together, and each group gives two numbers a column:
  /// the least and the greatest in the order in which they came, so that no spike is lost. Columns
  /// that only grow so give the first and the last. At most six digits, but for times.
  [[nodiscard]] nlohmann::ordered_json json(std::size_t most) const;

 private:
  using Column = std::vector<double>;  ///< NaN: nothing
  void set(const std::string& name, double value);
  [[nodiscard]] const Column* find(std::string_view name) const;

  std::vector<std::pair<std::string, Column>> columns_;  // in the order of their first numbers
  std::size_t size_ = 0;
};

}  // namespace gangway::report
