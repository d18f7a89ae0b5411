// SPDX-License-Identifier: MIT
#include "comm/calibrate/link_table.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"

namespace gangway::comm {
namespace {

constexpr int kTableVersion = 1;

[[noreturn]] void refuse(const std::string& what) {
  throw ConfigError(
      fmt::format("measured links: {}; measure them again with gangway profile --hostfile", what));
}

Calibration figures_in(const std::string& text) {
  try {
    return parse_calibration(text);
  } catch (const ConfigError&) {  // its message speaks of a run's file
    refuse(fmt::format("{} are no figures of a link", text));
  }
}

}  // namespace

std::vector<std::vector<std::pair<int, int>>> rounds_of_pairs(int num_hosts) {
  // Host 0 stays, the others rotate. With an odd number, the host opposite the empty place rests.
  const int places = num_hosts + num_hosts % 2;
  std::vector<std::vector<std::pair<int, int>>> rounds;
  for (int round = 0; round + 1 < places; ++round) {
    const auto at = [&](int place) {
      return place == 0 ? 0 : 1 + (place - 1 + round) % (places - 1);
    };
    std::vector<std::pair<int, int>> pairs;
    for (int place = 0; place < places / 2; ++place) {
      const auto [a, b] = std::minmax({at(place), at(places - 1 - place)});
      if (b < num_hosts) {
        pairs.emplace_back(a, b);
      }
    }
    rounds.push_back(std::move(pairs));
  }
  return rounds;
}

std::string to_json(const LinkTable& table) {
  nlohmann::ordered_json json{{"version", kTableVersion}, {"hosts", table.hosts}};
  json["links"] = nlohmann::ordered_json::array();
  for (const HostLink& link : table.links) {
    json["links"].push_back(
        {{"a", link.a},
         {"b", link.b},
         {"figures", nlohmann::ordered_json::parse(to_json(link.figures, TransportKind::kAuto))}});
  }
  return json.dump();
}

LinkTable parse_link_table(std::string_view text) {
  try {
    const auto json = nlohmann::json::parse(text);
    if (json.at("version").get<int>() != kTableVersion) {
      refuse(fmt::format("version {} is not {}", json.at("version").get<int>(), kTableVersion));
    }
    LinkTable table{.hosts = json.at("hosts").get<std::vector<std::string>>()};
    const int hosts = static_cast<int>(table.hosts.size());
    for (const auto& one : json.at("links")) {
      HostLink link{.a = one.at("a").get<int>(),
                    .b = one.at("b").get<int>(),
                    .figures = figures_in(one.at("figures").dump())};
      if (link.a < 0 || link.b < link.a || link.b >= hosts) {
        refuse(
            fmt::format("a link of hosts {} and {}, of which there are {}", link.a, link.b, hosts));
      }
      table.links.push_back(std::move(link));
    }
    return table;
  } catch (const nlohmann::json::exception& error) {
    refuse(error.what());
  }
}

}  // namespace gangway::comm
