// SPDX-License-Identifier: MIT
#include "run/control/steering_file.hpp"

#include <cmath>
#include <optional>
#include <sstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "run/json_members.hpp"

namespace gangway {
namespace {

using SteeringJson = nlohmann::ordered_json;

constexpr std::size_t kSteeringLimitBytes = std::size_t{64} << 20U;

std::optional<SteeringEvent> steering_event(const std::string& line) {
  const SteeringJson json = SteeringJson::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("time") || !json["time"].is_number() ||
      text_in(json, "command").empty()) {
    return std::nullopt;
  }
  SteeringEvent event{.unix_seconds = json["time"].get<double>(),
                      .step = whole_in(json, "step"),
                      .start = whole_in(json, "start"),
                      .command = text_in(json, "command"),
                      .who = text_in(json, "who"),
                      .arguments = {},
                      .answer = text_in(json, "answer")};
  if (json.contains("arguments") && json["arguments"].is_object()) {
    for (const auto& [name, value] : json["arguments"].items()) {
      if (value.is_string()) {
        event.arguments[name] = value.get<std::string>();
      }
    }
  }
  return event;
}

std::string steering_line(const SteeringEvent& event) {
  const SteeringJson json{{"time", std::round(event.unix_seconds * 1000.0) / 1000.0},
                          {"step", event.step},
                          {"start", event.start},
                          {"command", event.command},
                          {"who", event.who},
                          {"arguments", event.arguments},
                          {"answer", event.answer}};
  return json.dump(-1, ' ', false, SteeringJson::error_handler_t::replace);
}

}  // namespace

SteeringEvents read_steering(const std::filesystem::path& run) {
  SteeringEvents events;
  const auto text = read_small_file(run / kSteeringFile, kSteeringLimitBytes);
  std::istringstream lines(text.value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (auto event = steering_event(line)) {
      events.push_back(std::move(*event));
    }
  }
  return events;
}

void append_steering(const std::filesystem::path& run, const SteeringEvent& event) {
  append_line(run / kSteeringFile, steering_line(event));
}

void append_steering(const std::filesystem::path& run, const SteeringEvent& event,
                     const SteeringWritten& written) {
  try {
    append_steering(run, event);
  } catch (const Error& error) {
    written(error.what());
    throw;
  }
  written({});
}

}  // namespace gangway
