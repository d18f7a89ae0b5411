// SPDX-License-Identifier: MIT
#include "comm/calibrate/calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "job/choices.hpp"

namespace gangway::comm {
namespace {

constexpr int kVersion = 1;
// Messages must be clearly faster because a copy overstates their advantage: a reduction in shared
// memory reads gradients in place. The margin also absorbs a hiccup of a busy machine.
constexpr double kClearly = 0.5;
constexpr std::array<std::pair<PathKind, const char*>, 3> kNames{
    {{PathKind::kSharedMemory, "shared memory"},
     {PathKind::kMessagesWithinHost, "messages within a host"},
     {PathKind::kMessagesBetweenHosts, "messages between hosts"}}};

const PathFigures* find_path(const Calibration& calibration, PathKind path) {
  const auto found = std::ranges::find(calibration.paths, path, &PathFigures::path);
  return found == calibration.paths.end() ? nullptr : &*found;
}

[[noreturn]] void fail(const std::string& what) {
  throw ConfigError(
      fmt::format("calibration.json: {}; remove it from the run directory, and the start of the "
                  "run measures anew",
                  what));
}

PathKind path_named(const std::string& name) {
  const auto found =
      std::ranges::find_if(kNames, [&](const auto& known) { return known.second == name; });
  if (found == kNames.end()) {
    fail(fmt::format("there is no path '{}'", name));
  }
  return found->first;
}

/// Returns the seconds of `a` and `b` at the largest size measured for both; zeros if none.
std::pair<double, double> at_largest_common(const PathFigures& a, const PathFigures& b) {
  for (auto mine = a.points.rbegin(); mine != a.points.rend(); ++mine) {
    const auto theirs = std::ranges::find(b.points, mine->bytes, &PathPoint::bytes);
    if (theirs != b.points.end()) {
      return {mine->seconds, theirs->seconds};
    }
  }
  return {0.0, 0.0};
}

std::string describe(const PathFigures& figures) {
  return fmt::format("{} {:.1f} us, {:.3g} GB/s", path_name(figures.path),
                     figures.latency_seconds() * 1e6, figures.bytes_per_second() / 1e9);
}

PathPoint point_of(const nlohmann::json& json) {
  const PathPoint point{.bytes = json.at("bytes").get<std::uint64_t>(),
                        .seconds = json.at("seconds").get<double>()};
  if (!(point.seconds > 0.0) || !std::isfinite(point.seconds) || point.bytes == 0) {
    fail(fmt::format("{} bytes in {} s cannot be", point.bytes, point.seconds));
  }
  return point;
}

}  // namespace

const char* path_name(PathKind path) {
  return std::ranges::find(kNames, path, &std::pair<PathKind, const char*>::first)->second;
}

std::vector<PathKind> possible_paths(const std::vector<int>& machines) {
  std::vector<int> distinct = machines;
  std::ranges::sort(distinct);
  const std::size_t hosts =
      static_cast<std::size_t>(std::ranges::unique(distinct).begin() - distinct.begin());
  std::vector<PathKind> paths;
  if (hosts < machines.size()) {
    paths = {PathKind::kSharedMemory, PathKind::kMessagesWithinHost};
  }
  if (hosts > 1) {
    paths.push_back(PathKind::kMessagesBetweenHosts);
  }
  return paths;
}

TransportKind choose_transport(const Calibration& calibration, const std::vector<int>& machines) {
  const std::vector<PathKind> paths = possible_paths(machines);
  const PathFigures* const shared = find_path(calibration, PathKind::kSharedMemory);
  const PathFigures* const within = find_path(calibration, PathKind::kMessagesWithinHost);
  if (std::ranges::find(paths, PathKind::kSharedMemory) == paths.end() || shared == nullptr) {
    return TransportKind::kMpi;
  }
  if (within != nullptr) {
    const auto [by_memory, by_messages] = at_largest_common(*shared, *within);
    if (by_messages < kClearly * by_memory) {
      return TransportKind::kMpi;
    }
  }
  const bool one_host = std::ranges::find(paths, PathKind::kMessagesBetweenHosts) == paths.end();
  return one_host ? TransportKind::kShm : TransportKind::kHierarchical;
}

std::string describe(const Calibration& calibration, const std::vector<int>& machines) {
  std::string figures;
  for (const PathFigures& path : calibration.paths) {
    figures += (figures.empty() ? "" : "; ") + describe(path);
  }
  return fmt::format("{} ({})", gangway::name_of(choose_transport(calibration, machines)),
                     figures.empty() ? "one worker" : figures);
}

std::string to_json(const Calibration& calibration, TransportKind chosen) {
  nlohmann::ordered_json json{{"version", kVersion}, {"chosen", gangway::name_of(chosen)}};
  json["paths"] = nlohmann::ordered_json::array();
  for (const PathFigures& figures : calibration.paths) {
    nlohmann::ordered_json path{{"path", path_name(figures.path)}};
    for (const PathPoint& point : figures.points) {
      path["points"].push_back({{"bytes", point.bytes}, {"seconds", point.seconds}});
    }
    json["paths"].push_back(path);
  }
  return json.dump(2) + "\n";
}

Calibration parse_calibration(std::string_view text) {
  try {
    const auto json = nlohmann::json::parse(text);
    if (json.at("version").get<int>() != kVersion) {
      fail(fmt::format("version {} is not {}", json.at("version").get<int>(), kVersion));
    }
    Calibration calibration;
    for (const auto& path : json.at("paths")) {
      PathFigures figures{.path = path_named(path.at("path").get<std::string>())};
      for (const auto& point : path.at("points")) {
        figures.points.push_back(point_of(point));
      }
      if (figures.points.empty()) {
        fail("a path without points");
      }
      calibration.paths.push_back(std::move(figures));
    }
    return calibration;
  } catch (const nlohmann::json::exception& error) {
    fail(error.what());
  }
}

}  // namespace gangway::comm
