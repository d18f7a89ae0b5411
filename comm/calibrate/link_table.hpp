// SPDX-License-Identifier: MIT
// What the links of several hosts were found to cost, every pair of them and each host inside: for
// plans. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/calibrate/calibration.hpp"

namespace gangway::comm {

/// Of two hosts, by their place in the table, the lower first; of one host inside where both are
/// the same.
struct HostLink {
  int a = 0;
  int b = 0;
  Calibration figures;
  bool operator==(const HostLink&) const = default;
};

struct LinkTable {
  std::vector<std::string> hosts;
  std::vector<HostLink> links;
  bool operator==(const LinkTable&) const = default;
};

/// What a program that measures prints before its table.
inline constexpr std::string_view kLinksWord = "gangway-links ";

/// Who measures with whom: in each round every host with one other at most, and after all rounds
/// each with every other (the circle method of round-robin tournaments).
[[nodiscard]] std::vector<std::vector<std::pair<int, int>>> rounds_of_pairs(int num_hosts);

[[nodiscard]] std::string to_json(const LinkTable& table);
/// @throws ConfigError where `text` is no such table
[[nodiscard]] LinkTable parse_link_table(std::string_view text);

}  // namespace gangway::comm
