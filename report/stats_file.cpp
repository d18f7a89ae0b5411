// SPDX-License-Identifier: MIT
#include "report/stats_file.hpp"

#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"

namespace gangway::report {
namespace {

struct Kept {
  std::uintmax_t bytes = 0;
  std::optional<StatsPosition> last;
};

template <typename Number>
std::optional<Number> number(const nlohmann::json& line, const char* key) {
  if (!line.is_object() || !line.contains(key) || !line[key].is_number()) {
    return std::nullopt;
  }
  return line[key].get<Number>();
}

/// Returns the part that a run resumed at `step` keeps: lines up to the last sound one before a
/// later step. Unreadable lines in between stay.
Kept scan(const std::filesystem::path& path, std::int64_t step) {
  Kept kept;
  std::uintmax_t bytes = 0;
  std::ifstream file(path, std::ios::binary);
  for (std::string line;
       std::getline(file, line) && !file.eof();) {  // eof: the last line has no newline
    bytes += line.size() + 1;
    const auto parsed = nlohmann::json::parse(line, nullptr, false);
    const auto line_step = number<std::int64_t>(parsed, "step");
    const auto index = number<std::int64_t>(parsed, "tick");
    const auto seconds = number<double>(parsed, "seconds_total");
    if ((line_step && *line_step > step) || (index && kept.last && *index <= kept.last->index)) {
      break;
    }
    if (line_step && index && seconds) {
      kept = {.bytes = bytes, .last = StatsPosition{.index = *index, .seconds_total = *seconds}};
    } else if (line_step && parsed.contains("scores")) {
      kept.bytes = bytes;
    }
  }
  return kept;
}

}  // namespace

StatsFile::StatsFile(std::filesystem::path path, std::int64_t resumed_step)
    : path_(std::move(path)) {
  const Kept kept = scan(path_, resumed_step);
  last_kept_ = kept.last;
  file_ = open_to_append(path_);
  std::error_code failure;
  std::filesystem::resize_file(path_, kept.bytes, failure);
  if (failure) {
    throw EnvironmentError(
        fmt::format("{}: lines beyond step {} cannot be cut off ({}); check its permissions",
                    path_.string(), resumed_step, failure.message()));
  }
}

void StatsFile::append(const StatsScores& scores) {
  nlohmann::ordered_json line{{"step", scores.step}, {"kimg", scores.kimg}};
  for (const auto& [metric, value] : scores.scores) {
    line["scores"][metric] = value;
  }
  append_bytes(file_.get(), path_, line.dump() + "\n");
}

void StatsFile::append(const Tick& tick) {
  append_bytes(file_.get(), path_, tick_json(tick) + "\n");
}

}  // namespace gangway::report
