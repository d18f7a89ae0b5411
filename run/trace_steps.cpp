// SPDX-License-Identifier: MIT
#include "run/trace_steps.hpp"

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "base/errors.hpp"

namespace gangway {
namespace {

constexpr std::string_view kHeadBefore = "{\"displayTimeUnit\":\"ms\",\"beganNanoseconds\":";
constexpr std::string_view kHeadAfter = ",\"traceEvents\":[\n";

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

std::string trace_file_head(std::int64_t nanoseconds) {
  return fmt::format("{}{}{}", kHeadBefore, nanoseconds, kHeadAfter);
}

std::int64_t began_in_head(std::string_view line) {
  std::int64_t began = 0;
  if (line.starts_with(kHeadBefore)) {
    line.remove_prefix(kHeadBefore.size());
    (void)std::from_chars(line.data(), line.data() + line.size(), began);
  }
  return began;
}

std::string trace_file_of_rank(int rank) { return fmt::format("rank{}.json", rank); }

}  // namespace gangway
