// SPDX-License-Identifier: MIT
#include "job/keys/placement_keys.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gangway {
namespace {

constexpr WholeBounds kWorkers{0, 65'535};

/// Worker numbers, ascending; none for auto.
Read<std::vector<int>> read_workers(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kScalar && node.text == "auto") {
    return {};
  }
  if (node.kind != YamlNode::Kind::kSequence || node.items.empty()) {
    return {.complaint = fmt::format(
                "expected auto, or a list of workers such as [0, 2], {}",
                node.kind == YamlNode::Kind::kSequence ? "not an empty one" : unlike(node))};
  }
  Read<std::vector<int>> read;
  for (const YamlNode& item : node.items) {
    const Read<std::uint64_t> worker = read_whole(item, kWorkers);
    if (!worker.complaint.empty()) {
      return {.complaint = worker.complaint};
    }
    read.value.push_back(static_cast<int>(worker.value));
  }
  if (std::ranges::adjacent_find(read.value, std::greater_equal()) != read.value.end()) {
    return {.complaint = "expected workers in ascending order, each once"};
  }
  return read;
}

}  // namespace

void add_placement_keys(const Recipe& recipe, std::vector<Key>& keys) {
  const PerNetwork<NetworkSpec> networks = networks_of(recipe);
  for (const NetworkId id : networks.ids()) {
    Key key = make_key({"layout." + networks[id].name, "",
                        fmt::format("Workers that hold the {}, as in [0, 2]; auto: all "
                                    "(docs/networks-apart.md)",
                                    networks[id].name)},
                       "auto or list of whole numbers", "workers from 0, ascending");
    key.set = [id](const YamlNode& node, JobSpec& job) -> std::string {
      Read<std::vector<int>> read = read_workers(node);
      if (read.complaint.empty()) {
        job.networks[id].workers = std::move(read.value);
      }
      return read.complaint;
    };
    key.get = [id](const JobSpec& job) {
      const std::vector<int>& workers = job.networks[id].workers;
      return workers.empty() ? std::string("auto") : fmt::format("[{}]", fmt::join(workers, ", "));
    };
    keys.push_back(std::move(key));
  }
}

}  // namespace gangway
