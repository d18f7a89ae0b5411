// SPDX-License-Identifier: MIT
#include "coordinator/trouble/watch_history.hpp"

#include <cmath>
#include <cstdlib>
#include <sstream>
#include <utility>

#include <fmt/format.h>

namespace gangway::coordinator {
namespace {

/// Stands for a missing number.
constexpr const char* kNone = "-";

/// Formats a value exactly, with all its bits.
std::string exact(double value) { return fmt::format("{:a}", value); }

std::optional<double> number(const std::string& word) {
  char* end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  return !word.empty() && *end == '\0' && std::isfinite(value) ? std::optional(value)
                                                               : std::nullopt;
}

struct Line {
  std::int64_t step = 0;
  SeenFigures seen;
};

/// Parses "STEP FIRST SATURATED ALIKE BEYOND SIZE SIZE …".
std::optional<Line> parse_line(const std::string& text) {
  std::istringstream words(text);
  Line line;
  std::string first;
  if (!(words >> line.step >> first >> line.seen.saturated >> line.seen.alike >>
        line.seen.beyond)) {
    return std::nullopt;
  }
  line.seen.first = number(first);
  if (!line.seen.first && first != kNone) {
    return std::nullopt;
  }
  for (std::string word; words >> word;) {
    const auto size = number(word);
    if (!size || line.seen.sizes.size() == TroubleWatch::kMedianSteps) {
      return std::nullopt;
    }
    line.seen.sizes.push_back(*size);
  }
  return line;
}

}  // namespace

WatchHistory WatchHistory::parse(std::string_view text) {
  WatchHistory memory;
  std::istringstream lines{std::string(text)};
  for (std::string text_of_line; std::getline(lines, text_of_line);) {
    auto line = parse_line(text_of_line);
    if (!line) {
      return {};
    }
    memory.by_step_[line->step].push_back(std::move(line->seen));
  }
  return memory;
}

void WatchHistory::keep(std::int64_t step, const std::vector<SeenFigures>& seen) {
  by_step_[step] = seen;
  if (by_step_.size() > kMostSteps) {
    by_step_.erase(by_step_.begin());
  }
}

void WatchHistory::begin_at(std::int64_t step) {
  by_step_.erase(by_step_.upper_bound(step), by_step_.end());
}

std::optional<std::vector<SeenFigures>> WatchHistory::at(std::int64_t step) const {
  const auto found = by_step_.find(step);
  return found == by_step_.end() ? std::nullopt : std::optional(found->second);
}

std::string WatchHistory::text() const {
  std::string text;
  for (const auto& [step, networks] : by_step_) {
    for (const SeenFigures& seen : networks) {
      text += fmt::format("{} {} {} {} {}", step, seen.first ? exact(*seen.first) : kNone,
                          seen.saturated, seen.alike, seen.beyond);
      for (const double size : seen.sizes) {
        text += " " + exact(size);
      }
      text += '\n';
    }
  }
  return text;
}

}  // namespace gangway::coordinator
