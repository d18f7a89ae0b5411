// SPDX-License-Identifier: MIT
#include "job/trace_steps.hpp"

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "job/errors.hpp"

namespace gangway {
namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

TraceSteps parse_trace_steps(std::string_view text) {
  if (text.empty()) {
    return {};
  }
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    const auto begin = whole_number(text.substr(0, colon));
    const auto end = whole_number(text.substr(colon + 1));
    if (begin && end && *begin < *end) {
      return {*begin, *end};
    }
  }
  throw ConfigError(fmt::format(
      "--trace {}: give the first step and the one after the last, as --trace 100:110", text));
}

std::string trace_file_of_rank(int rank) { return fmt::format("rank{}.json", rank); }

}  // namespace gangway
