// SPDX-License-Identifier: MIT
#include "report/run_view/log_events.hpp"

#include <array>
#include <charconv>
#include <ctime>
#include <sstream>
#include <utility>

namespace gangway::report {
namespace {

using KindOfWord = std::pair<std::string_view, std::string_view>;

/// The first word of a message and its event kind.
constexpr std::array kKinds = {
    KindOfWord{"gangway", "start"},   KindOfWord{"resume", "resume"},
    KindOfWord{"note", "note"},       KindOfWord{"warn", "warning"},
    KindOfWord{"score", "score"},     KindOfWord{"ckpt", "checkpoint"},
    KindOfWord{"picture", "picture"}, KindOfWord{"trace", "trace"},
    KindOfWord{"kept", "note"},       KindOfWord{"ends", "end"},
    KindOfWord{"advise", "advice"},
};

std::string_view without_spaces(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  return begin == std::string_view::npos
             ? std::string_view()
             : text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// Parses "2026-11-23T17:37:37.226" in this host's time zone.
std::optional<double> time_of(std::string_view text) {
  constexpr std::size_t kToSeconds = 19;
  std::tm parts{};
  if (text.size() < kToSeconds || strptime(std::string(text.substr(0, kToSeconds)).c_str(),
                                           "%Y-%m-%dT%H:%M:%S", &parts) == nullptr) {
    return std::nullopt;
  }
  parts.tm_isdst = -1;
  double fraction = 0.0;
  std::from_chars(text.data() + kToSeconds, text.data() + text.size(), fraction);
  return static_cast<double>(std::mktime(&parts)) + fraction;
}

std::optional<std::int64_t> number_behind(std::string_view text, std::string_view word) {
  const std::size_t found = text.find(word);
  std::int64_t number = 0;
  if (found == std::string_view::npos ||
      std::from_chars(text.data() + found + word.size(), text.data() + text.size(), number).ec !=
          std::errc{}) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

std::optional<RunEvent> event_of_line(std::string_view line) {
  const auto time = time_of(line);
  const std::size_t level = line.find("] info: ");
  if (!time || level == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view said = line.substr(level + 8);
  const std::string_view word = said.substr(0, said.find(' '));
  for (const auto& [known, kind] : kKinds) {
    if (word != known) {
      continue;
    }
    const bool keeps_word = known == "gangway" || known == "ends" || known == "picture";
    const std::string_view text = without_spaces(keeps_word ? said : said.substr(word.size()));
    auto step = number_behind(text, "step ");
    step = step ? step : number_behind(text, "step-");
    return RunEvent{
        .unix_seconds = time, .step = step, .kind = std::string(kind), .text = std::string(text)};
  }
  return std::nullopt;
}

std::optional<LoggedScore> logged_score(const RunEvent& event) {
  std::istringstream words(event.text);
  std::string step;
  std::int64_t number = 0;
  LoggedScore score;
  if (event.kind != "score" || !(words >> step >> number >> score.metric >> score.value)) {
    return std::nullopt;
  }
  return score;
}

std::string logged_picture(const RunEvent& event) {
  std::istringstream words(event.text);
  std::string picture;
  std::string file;
  return event.kind == "picture" && words >> picture >> file ? file : std::string();
}

}  // namespace gangway::report
