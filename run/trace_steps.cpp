// SPDX-License-Identifier: MIT
#include "run/trace_steps.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/text/parse_number.hpp"

namespace gangway {
namespace {

constexpr std::string_view kHeadBefore = "{\"displayTimeUnit\":\"ms\",\"beganNanoseconds\":";
constexpr std::string_view kHeadAfter = ",\"traceEvents\":[\n";

std::optional<std::int64_t> whole_number(std::string_view text) {
  const auto value = parse_number<std::int64_t>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

/// Removes and returns the text up to the next `mark`; removes the mark, too.
std::string_view take_until(char mark, std::string_view& text) {
  const std::string_view taken = text.substr(0, text.find(mark));
  text.remove_prefix(std::min(text.size(), taken.size() + 1));
  return taken;
}

/// Sets the detail `word`. @return whether there is such a detail
bool add_detail(std::string_view word, TraceDetail& detail) {
  bool* const found = word == "shapes"    ? &detail.shapes
                      : word == "memory"  ? &detail.memory
                      : word == "kernels" ? &detail.kernels
                                          : nullptr;
  if (found != nullptr) {
    *found = true;
  }
  return found != nullptr;
}

}  // namespace

TraceSteps parse_trace_steps(std::string_view text) {
  if (text.empty()) {
    return {};
  }
  std::string_view rest = text;
  std::string_view steps = take_until(',', rest);
  const auto begin = whole_number(take_until(':', steps));
  const auto end = whole_number(steps);
  TraceSteps found;
  bool is_known = begin && end && *begin < *end;
  while (is_known && !rest.empty()) {
    is_known = add_detail(take_until(',', rest), found.detail);
  }
  if (!is_known) {
    throw ConfigError(
        fmt::format("--trace {}: give the first step and the step after the last, as --trace "
                    "100:110; add details as --trace 100:110,shapes,memory,kernels",
                    text));
  }
  found.begin = *begin;
  found.end = *end;
  return found;
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

std::string trace_file_of_rank(Rank rank) { return fmt::format("rank{}.pt.trace.json", rank); }

}  // namespace gangway
