// SPDX-License-Identifier: MIT
// Which operators a trace spent its time in: `gangway trace RUN --top 20`. What counts and adds is
// pure; the files are those of docs/tuning.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gangway::launch {

/// One call of an operator, in microseconds.
struct TracedOperator {
  std::string name;
  double begin = 0.0;
  double duration = 0.0;
  std::int64_t allocated = 0;  ///< bytes, by itself
};

/// By rank and row: what one thread ran, in any order.
using TracedThreads = std::map<std::pair<int, int>, std::vector<TracedOperator>>;

/// All calls of one operator, over all threads.
struct OperatorSum {
  std::string name;
  std::int64_t calls = 0;
  double total = 0.0;  ///< microseconds; a call within another of the same name counts in both
  double self = 0.0;   ///< without the operators that it called on its thread
  std::int64_t allocated = 0;  ///< bytes, without them too; none where the trace has no memory
  bool operator==(const OperatorSum&) const = default;
};

enum class OperatorOrder { kSelf, kTotal };

/// The most expensive first. The selves add up to the time in which threads were in an operator.
[[nodiscard]] std::vector<OperatorSum> operator_sums(TracedThreads threads, OperatorOrder order);

/// What of a trace is counted.
struct OperatorChoice {
  bool kernels = false;  ///< what GPUs did, and not the operators
  bool shapes = false;   ///< operators apart by the shapes of what they take
};

/// Of all ranks that have left a file in the run's trace.
/// @throws ConfigError where there is none, or one is no trace
[[nodiscard]] TracedThreads read_operators(const std::filesystem::path& run, OperatorChoice choice);

/// The first `most` of them; shares are of the selves of all.
[[nodiscard]] std::string operator_table(const std::vector<OperatorSum>& sums, std::size_t most);
/// The same, an object a line.
[[nodiscard]] std::string operator_lines(const std::vector<OperatorSum>& sums, std::size_t most);

}  // namespace gangway::launch
