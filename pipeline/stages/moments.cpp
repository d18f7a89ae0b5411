// SPDX-License-Identifier: MIT
#include "pipeline/stages/moments.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace gangway::pipeline {
namespace {

/// Of `pass`, which of the nodes before `taker` it takes something of.
std::vector<bool> makers_of(const Pass& pass, int taker) {
  const std::vector<std::string> taken = inputs_of(pass.nodes[static_cast<std::size_t>(taker)]);
  std::vector<bool> makers(static_cast<std::size_t>(taker));
  for (std::size_t maker = 0; maker < makers.size(); ++maker) {
    const std::vector<std::string> made = outputs_of(pass.nodes[maker]);
    makers[maker] = std::ranges::find_first_of(made, taken) != made.end();
  }
  return makers;
}

bool takes_time(const Node& node) {
  return std::holds_alternative<Application>(node) || std::holds_alternative<Penalty>(node);
}

}  // namespace

std::vector<int> forward_moments(const Pass& pass, const std::vector<std::optional<int>>& owners) {
  const std::size_t count = pass.nodes.size();
  std::vector<std::vector<bool>> makers;
  for (std::size_t node = 0; node < count; ++node) {
    makers.push_back(makers_of(pass, static_cast<int>(node)));
  }
  const auto is_taken_by = [&](std::size_t maker, const std::optional<int>& worker) {
    for (std::size_t taker = maker + 1; taker < count; ++taker) {
      if (makers[taker][maker] && owners[taker] == worker) {
        return true;
      }
    }
    return false;
  };
  std::vector<int> moments(count);
  for (std::size_t node = 0; node < count; ++node) {
    for (std::size_t before = 0; before < node && owners[node]; ++before) {
      const bool is_here = owners[before] == owners[node];
      if (!owners[before] || (!is_here && !is_taken_by(before, owners[node]))) {
        continue;
      }
      const bool follows = !is_here || (makers[node][before] && takes_time(pass.nodes[before]) &&
                                        takes_time(pass.nodes[node]));
      moments[node] = std::max(moments[node], moments[before] + (follows ? 1 : 0));
    }
  }
  return moments;
}

int first_backward_moment(const Phase& phase, const PerNetwork<NetworkGroup>& groups) {
  const int microbatches = groups.begin()->ranges.back().end;
  int last = 0;
  for (const Pass& pass : phase.passes) {
    for (int microbatch = 0; microbatch < microbatches; ++microbatch) {
      const std::vector<int> moments = forward_moments(pass, owners_of(pass, groups, microbatch));
      last = std::max(last, std::ranges::max(moments));
    }
  }
  return last + 1;
}

}  // namespace gangway::pipeline
