// SPDX-License-Identifier: MIT
#include "run/run_start.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <sys/random.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "run/json_members.hpp"

namespace gangway {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLimitBytes = 64 * 1024;
constexpr std::size_t kIdBytes = 16;

std::string new_run_id() {
  std::array<unsigned char, kIdBytes> bits{};
  if (::getrandom(bits.data(), bits.size(), 0) != static_cast<ssize_t>(bits.size())) {
    throw EnvironmentError(fmt::format("the kernel gives no random bytes to name a run: {}",
                                       std::generic_category().message(errno)));
  }
  return fmt::format("{:02x}", fmt::join(bits, ""));
}

bool is_run_id(const std::string& text) {
  return text.size() == 2 * kIdBytes && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

std::optional<RunStart> read_run_start(const std::filesystem::path& run) {
  const auto text = read_small_file(run / kRunStartFile, kLimitBytes);
  const Json json = text ? Json::parse(*text, nullptr, /*allow_exceptions=*/false) : Json();
  RunStart start{.run_id = text_in(json, "run_id"),
                 .incarnation = whole_in(json, "incarnation"),
                 .data_fingerprint = text_in(json, "data_fingerprint"),
                 .data_read = text_in(json, "data_read"),
                 .computed = whole_in(json, "computed"),
                 .commanded = whole_in(json, "commanded")};
  if (json.contains("begun") && json["begun"].is_number_integer()) {
    start.begun = json["begun"].get<std::int64_t>();
  }
  if (json.contains("software") && json["software"].is_object()) {
    for (const auto& [name, value] : json["software"].items()) {
      start.software.emplace(name, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  return is_run_id(start.run_id) && start.incarnation > 0 ? std::optional(std::move(start))
                                                          : std::nullopt;
}

std::string run_id_of(const std::filesystem::path& run) noexcept {
  try {
    const auto start = read_run_start(run);
    return start ? start->run_id : std::string();
  } catch (const std::exception&) {
    return {};
  }
}

RunStart begin_run_start(const std::filesystem::path& run, bool is_again) {
  RunStart start = read_run_start(run).value_or(RunStart{});
  if (start.run_id.empty()) {
    start.run_id = new_run_id();
  }
  ++start.incarnation;
  if (!is_again) {
    start.commanded = start.incarnation;
  }
  start.begun.reset();
  write_run_start(run, start);
  return start;
}

void write_run_start(const std::filesystem::path& run, const RunStart& start) {
  Json json{{"run_id", start.run_id}, {"incarnation", start.incarnation}};
  if (start.begun) {
    json["begun"] = *start.begun;
  }
  if (!start.data_fingerprint.empty()) {
    json["data_fingerprint"] = start.data_fingerprint;
  }
  if (!start.data_read.empty()) {
    json["data_read"] = start.data_read;
  }
  json["computed"] = start.computed;
  json["commanded"] = start.commanded;
  json["software"] = start.software;
  write_file_atomically(run / kRunStartFile, json.dump(2) + "\n");
}

}  // namespace gangway
