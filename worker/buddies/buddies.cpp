// SPDX-License-Identifier: MIT
#include "worker/buddies/buddies.hpp"

#include <algorithm>
#include <cstddef>

namespace gangway::worker {

std::vector<int> buddies_of(const std::vector<int>& hosts) {
  std::vector<std::vector<int>> groups;  // workers by host, hosts by their first worker
  std::vector<int> names;
  for (std::size_t worker = 0; worker < hosts.size(); ++worker) {
    const auto found = std::ranges::find(names, hosts[worker]);
    const auto group = static_cast<std::size_t>(found - names.begin());
    if (found == names.end()) {
      names.push_back(hosts[worker]);
      groups.emplace_back();
    }
    groups[group].push_back(static_cast<int>(worker));
  }
  if (groups.size() < 2) {
    return {};
  }
  std::vector<int> buddies(hosts.size());
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const std::vector<int>& next = groups[(group + 1) % groups.size()];
    for (std::size_t i = 0; i < groups[group].size(); ++i) {
      buddies[static_cast<std::size_t>(groups[group][i])] = next[i % next.size()];
    }
  }
  return buddies;
}

}  // namespace gangway::worker
