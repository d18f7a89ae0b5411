// SPDX-License-Identifier: MIT
#include "run/restart_file.hpp"

#include <sstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"

namespace gangway {
namespace {

using RestartJson = nlohmann::ordered_json;

constexpr std::size_t kRestartsLimitBytes = std::size_t{64} << 20U;

std::optional<Restart> parse_restart(const std::string& line) {
  const RestartJson json = RestartJson::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return std::nullopt;
  }
  try {
    Restart restart{.unix_seconds = json.at("time").get<double>(),
                    .start = json.at("start").get<std::int64_t>(),
                    .begun = {},
                    .ran_seconds = json.at("ran_seconds").get<double>(),
                    .why = json.at("why").get<std::string>(),
                    .host = json.value("host", ""),
                    .left_out = json.value("left_out", std::vector<std::string>()),
                    .workers = json.at("workers").get<int>(),
                    .answer = json.value("answer", "")};
    if (json.contains("begun")) {
      restart.begun = json.at("begun").get<std::int64_t>();
    }
    return restart;
  } catch (const RestartJson::exception&) {
    return std::nullopt;  // a crash may cut a line
  }
}

}  // namespace

Restarts read_restarts(const std::filesystem::path& run) {
  Restarts restarts;
  const auto text = read_small_file(run / kRestartsFile, kRestartsLimitBytes);
  std::istringstream lines(text.value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (auto restart = parse_restart(line)) {
      restarts.push_back(std::move(*restart));
    }
  }
  return restarts;
}

void append_restart(const std::filesystem::path& run, const Restart& restart) {
  RestartJson json{{"time", restart.unix_seconds},       {"start", restart.start},
                   {"ran_seconds", restart.ran_seconds}, {"why", restart.why},
                   {"workers", restart.workers},         {"answer", restart.answer}};
  if (restart.begun) {
    json["begun"] = *restart.begun;
  }
  if (!restart.host.empty()) {
    json["host"] = restart.host;
  }
  if (!restart.left_out.empty()) {
    json["left_out"] = restart.left_out;
  }
  append_line(run / kRestartsFile,
              json.dump(-1, ' ', false, RestartJson::error_handler_t::replace));
}

}  // namespace gangway
