// SPDX-License-Identifier: MIT
#include "run/run_files.hpp"

#include <cerrno>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "run/json_members.hpp"

namespace gangway {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kStatusLimitBytes = std::size_t{64} * 1024;

/// Writes `json`. Replaces bytes that are not UTF-8 (a host name, a library's message) by U+FFFD,
/// so that writing a report does not fail on them.
void write_json(const std::filesystem::path& path, const Json& json) {
  write_file_atomically(path, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

void remove_file(const std::filesystem::path& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    throw EnvironmentError(
        fmt::format("{}: cannot be removed: {}; choose an --outdir that you may write to",
                    path.string(), std::generic_category().message(errno)));
  }
}

std::vector<int> numbers_in(const Json& json, const char* name) {
  std::vector<int> numbers;
  for (const Json& number : json.value(name, Json::array())) {
    if (number.is_number_integer()) {
      numbers.push_back(number.get<int>());
    }
  }
  return numbers;
}

}  // namespace

void write_job(const std::filesystem::path& run, std::string_view yaml) {
  write_file_atomically(run / kJobFile, yaml);
}

void write_command(const std::filesystem::path& run, std::string_view command) {
  write_file_atomically(run / kCommandFile, std::string(command) + "\n");
}

void write_placement(const std::filesystem::path& run, const std::vector<PlacedRank>& ranks) {
  Json list = Json::array();
  for (const PlacedRank& rank : ranks) {
    Json entry = {{"rank", rank.rank}, {"role", rank.role}, {"host", rank.host}, {"pid", rank.pid}};
    if (rank.microbatches.size() > 0) {
      entry["device"] = rank.device;
      entry["microbatches"] = {rank.microbatches.begin, rank.microbatches.end};
    }
    if (!rank.networks.empty()) {
      entry["networks"] = rank.networks;
    }
    list.push_back(std::move(entry));
  }
  write_json(run / kPlacementFile, {{"ranks", std::move(list)}});
}

void write_status(const std::filesystem::path& run, const RunEnd& end) {
  Json json = {{"exit_code", end.exit_code}, {"reason", end.reason}};
  if (end.saved) {
    json["saved"] = true;
  }
  if (end.keeps) {
    json["keeping"] = true;
  }
  if (end.rolled_back) {
    json["rolled_back"] = true;
  }
  if (end.resize) {
    json["workers"] = end.resize->workers;
    if (!end.resize->drained.empty()) {
      json["drained"] = end.resize->drained;
    }
    if (!end.resize->shares.empty()) {
      json["shares"] = end.resize->shares;
    }
  }
  if (end.is(ExitCode::kWorkerLost) && end.rank != Rank()) {
    json["lost"] = end.rank;
  }
  write_json(run / kStatusFile, json);
}

std::optional<RunEnd> read_status(const std::filesystem::path& run) {
  const auto text = read_small_file(run / kStatusFile, kStatusLimitBytes);
  const Json json = text ? Json::parse(*text, nullptr, /*allow_exceptions=*/false) : Json();
  if (!json.is_object() || !json.contains("exit_code") || !json["exit_code"].is_number_integer()) {
    return std::nullopt;
  }
  RunEnd end{.exit_code = json["exit_code"].get<int>(),
             .reason = text_in(json, "reason"),
             .rank = Rank(whole_in<int>(json, "lost")),
             .saved = json.contains("saved") && json["saved"] == true,
             .keeps = json.contains("keeping") && json["keeping"] == true,
             .rolled_back = json.contains("rolled_back") && json["rolled_back"] == true};
  if (const int workers = whole_in<int>(json, "workers"); workers > 0) {
    const std::vector<int> drained = numbers_in(json, "drained");
    end.resize = {.workers = workers,
                  .drained = {drained.begin(), drained.end()},
                  .shares = numbers_in(json, "shares")};
  }
  return end;
}

void clear_status(const std::filesystem::path& run) {
  remove_file(run / kStatusFile);
  remove_file(run / kErrorFile);
}

}  // namespace gangway
