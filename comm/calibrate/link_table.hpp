// SPDX-License-Identifier: MIT
// Holds the measured costs of the links between several hosts, each pair and each host inside, for
// planning. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/calibrate/calibration.hpp"

namespace gangway::comm {

/// The figures of the link between hosts `a` and `b`, indices into LinkTable::hosts, a <= b.
/// a == b: the link between workers of one host.
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

/// The prefix that a measuring program prints before its table.
inline constexpr std::string_view kLinksWord = "gangway-links ";

/// Returns the pairs of hosts to measure in each round. A host is in at most one pair a round; all
/// rounds together contain every pair (circle method of round-robin tournaments).
[[nodiscard]] std::vector<std::vector<std::pair<int, int>>> rounds_of_pairs(int num_hosts);

[[nodiscard]] std::string to_json(const LinkTable& table);
/// @throws ConfigError if `text` is not such a table
[[nodiscard]] LinkTable parse_link_table(std::string_view text);

}  // namespace gangway::comm
