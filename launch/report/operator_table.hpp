// SPDX-License-Identifier: MIT
// Sums a trace's time by operator: `gangway trace RUN --top 20`. All functions but read_operators
// are pure; docs/tuning.md describes the files.
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
  std::int64_t allocated = 0;  ///< bytes, by this operator alone
};

/// Calls of each thread, by rank and row, in any order.
using TracedThreads = std::map<std::pair<int, int>, std::vector<TracedOperator>>;

/// All calls of one operator, over all threads.
struct OperatorSum {
  std::string name;
  std::int64_t calls = 0;
  double total = 0.0;  ///< microseconds; a call within another of the same name counts in both
  double self = 0.0;   ///< without the operators that it called on its thread
  std::int64_t allocated = 0;  ///< bytes, likewise; 0 if the trace has no memory
  bool operator==(const OperatorSum&) const = default;
};

enum class OperatorOrder { kSelf, kTotal };

/// Returns sums, most expensive first. Self times add up to the threads' time in operators.
[[nodiscard]] std::vector<OperatorSum> operator_sums(TracedThreads threads, OperatorOrder order);

/// Selects the events of a trace that count.
struct OperatorChoice {
  bool kernels = false;  ///< GPU kernels instead of operators
  bool shapes = false;   ///< separates operators by the shapes of their inputs
};

/// Reads the trace files of all ranks of a run.
/// @throws ConfigError if there is no trace file, or a file is not a trace
[[nodiscard]] TracedThreads read_operators(const std::filesystem::path& run, OperatorChoice choice);

/// Formats the first `most` sums; percentages are of the total self time.
[[nodiscard]] std::string operator_table(const std::vector<OperatorSum>& sums, std::size_t most);
/// Formats the first `most` sums, one JSON object per line.
[[nodiscard]] std::string operator_lines(const std::vector<OperatorSum>& sums, std::size_t most);

}  // namespace gangway::launch
