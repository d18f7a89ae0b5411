// SPDX-License-Identifier: MIT
#include "run/start_request.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"

namespace gangway {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kRequestLimitBytes = std::size_t{1} << 20U;

/// Calls `it(name, member)` for each member.
void for_each(auto& request, const auto& it) {
  it("resume", request.resume);
  it("trace", request.trace);
  it("command", request.command);
  it("resume_command", request.resume_command);
  it("goes_on", request.goes_on);
  it("is_again", request.is_again);
  it("replay", request.replay);
  it("lifeline_port", request.lifeline_port);
  it("bar_columns", request.bar_columns);
}

}  // namespace

void write_request(const std::filesystem::path& run, const StartRequest& request) {
  Json json;
  for_each(request, [&json](const char* name, const auto& member) { json[name] = member; });
  write_file_atomically(run / kRequestFile, json.dump(2) + "\n");
}

StartRequest read_request(const std::filesystem::path& file) {
  const auto text = read_small_file(file, kRequestLimitBytes);
  StartRequest request;
  try {
    const Json json = Json::parse(text.value_or(""));
    for_each(request, [&json](const char* name, auto& member) { json.at(name).get_to(member); });
  } catch (const Json::exception& /*error*/) {
    throw EnvironmentError(
        fmt::format("{}: {}; `gangway run` writes it before each start: give that command again",
                    file.string(), text ? "damaged" : "not there"));
  }
  return request;
}

}  // namespace gangway
