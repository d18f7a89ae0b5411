// SPDX-License-Identifier: MIT
#include "plan/machines/what_if.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/text/quantities.hpp"

namespace gangway::plan {
namespace {

[[noreturn]] void refuse_what_if(const std::string& what_if) {
  throw ConfigError(fmt::format(
      "--what-if {}: expected slow:NODE/DEVICE=1.5, slow:NODE=1.5, lost:NODE, link:A-B=0.1x, "
      "link:between=0.1x or link:inside=0.1x",
      what_if));
}

/// "NODE/DEVICE=1.5" → the factor and its target.
struct Factor {
  std::string of;
  double factor = 1.0;
};

Factor factor_in(const std::string& rest, const std::string& what_if) {
  const std::size_t equals = rest.rfind('=');
  std::string number = equals == std::string::npos ? "" : rest.substr(equals + 1);
  if (number.ends_with('x')) {
    number.pop_back();
  }
  const auto factor = parse_positive(number);
  if (!factor) {
    refuse_what_if(what_if);
  }
  return {.of = rest.substr(0, equals), .factor = *factor};
}

void slow_down(Cluster& cluster, const Factor& slow, const std::string& what_if) {
  const std::size_t slash = slow.of.find('/');
  for (const int number : nodes_named(cluster, slow.of.substr(0, slash))) {
    ClusterNode& node = cluster.nodes[static_cast<std::size_t>(number)];
    if (slash == std::string::npos) {
      for (double& speed : node.speeds) {
        speed /= slow.factor;
      }
      continue;
    }
    const std::string word = slow.of.substr(slash + 1);
    const auto device = word == "0" ? std::optional(0) : parse_count(word);
    if (!device || *device >= node.num_devices()) {
      throw ConfigError(fmt::format("--what-if {}: {} has devices 0 to {}", what_if, node.name,
                                    node.num_devices() - 1));
    }
    node.speeds[static_cast<std::size_t>(*device)] /= slow.factor;
  }
}

Cluster without(const Cluster& cluster, const std::vector<int>& lost, const std::string& what_if) {
  Cluster left{.name = cluster.name, .inside = cluster.inside, .between = cluster.between};
  std::vector<int> new_number;
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
    const bool is_lost = std::ranges::find(lost, static_cast<int>(i)) != lost.end();
    new_number.push_back(is_lost ? -1 : static_cast<int>(left.nodes.size()));
    if (!is_lost) {
      left.nodes.push_back(cluster.nodes[i]);
    }
  }
  if (left.nodes.empty()) {
    throw ConfigError(fmt::format("--what-if {}: no node would be left", what_if));
  }
  for (const auto& [pair, link] : cluster.exceptions) {
    const int a = new_number[static_cast<std::size_t>(pair.first)];
    const int b = new_number[static_cast<std::size_t>(pair.second)];
    if (a >= 0 && b >= 0) {
      left.exceptions[{a, b}] = link;
    }
  }
  return left;
}

void scale_bandwidth(Link& link, double factor) { link.bytes_per_second *= factor; }

/// Splits "A-B" at the hyphen with a node on each side, because names may have hyphens.
void change_link(Cluster& cluster, const Factor& change, const std::string& what_if) {
  if (change.of == "inside") {
    return scale_bandwidth(cluster.inside, change.factor);
  }
  if (change.of == "between") {
    scale_bandwidth(cluster.between, change.factor);
    for (auto& [pair, link] : cluster.exceptions) {
      scale_bandwidth(link, change.factor);
    }
    return;
  }
  for (std::size_t at = change.of.find('-'); at != std::string::npos;
       at = change.of.find('-', at + 1)) {
    std::vector<int> ends;
    for (const std::string& name : {change.of.substr(0, at), change.of.substr(at + 1)}) {
      const auto found = std::ranges::find(cluster.nodes, name, &ClusterNode::name);
      if (found != cluster.nodes.end()) {
        ends.push_back(static_cast<int>(found - cluster.nodes.begin()));
      }
    }
    if (ends.size() == 2 && ends[0] != ends[1]) {
      Link changed = cluster.link(ends[0], ends[1]);
      scale_bandwidth(changed, change.factor);
      cluster.exceptions[std::minmax(ends[0], ends[1])] = changed;
      return;
    }
  }
  throw ConfigError(fmt::format("--what-if {}: '{}' is not two nodes; as link:{}-{}=0.1x", what_if,
                                change.of, cluster.nodes.front().name, cluster.nodes.back().name));
}

}  // namespace

Cluster with_what_if(Cluster cluster, const std::string& what_if) {
  const std::size_t colon = what_if.find(':');
  const std::string kind = what_if.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : what_if.substr(colon + 1);
  if (kind == "lost" && !rest.empty()) {
    return without(cluster, nodes_named(cluster, rest), what_if);
  }
  if (kind == "slow") {
    slow_down(cluster, factor_in(rest, what_if), what_if);
  } else if (kind == "link") {
    change_link(cluster, factor_in(rest, what_if), what_if);
  } else {
    refuse_what_if(what_if);
  }
  return cluster;
}

}  // namespace gangway::plan
