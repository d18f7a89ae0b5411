// SPDX-License-Identifier: MIT
#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "job/keys/key_lists.hpp"
#include "job/keys/key_uses.hpp"

namespace gangway {
namespace {

constexpr WholeBounds kCuts{1, 65'535};
constexpr WholeBounds kShares{1, 65'536};

bool is_auto(const YamlNode& node) {
  return node.kind == YamlNode::Kind::kScalar && node.text == "auto";
}

Read<std::vector<int>> read_numbers(const YamlNode& node, WholeBounds bounds) {
  Read<std::vector<int>> read;
  for (const YamlNode& item : node.items) {
    Read<std::uint64_t> number = read_whole(item, bounds);
    if (!number.complaint.empty()) {
      return {.complaint = std::move(number.complaint)};
    }
    read.value.push_back(static_cast<int>(number.value));
  }
  return read;
}

/// Reads ascending numbers. @param what  "ranks"
Read<std::vector<int>> read_ascending(const YamlNode& node, WholeBounds bounds, const char* what) {
  if (node.kind != YamlNode::Kind::kSequence) {
    return {.complaint = fmt::format("expected auto, or a list of {} such as [1, 2], {}", what,
                                     unlike(node))};
  }
  Read<std::vector<int>> read = read_numbers(node, bounds);
  if (std::ranges::adjacent_find(read.value, std::greater_equal()) != read.value.end()) {
    read.complaint = fmt::format("expected {} in ascending order, each once", what);
  }
  return read;
}

std::string list_text(const std::vector<int>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

/// Returns the ranks of `workers` as text. The only place that writes workers into a job.
std::string ranks_text(std::vector<int> workers) {
  std::ranges::for_each(workers, [](int& worker) { ++worker; });
  return list_text(workers);
}

/// Reads ranks and returns workers; empty for auto. The only place that reads workers of a job.
Read<std::vector<int>> read_workers(const YamlNode& node) {
  if (is_auto(node)) {
    return {};
  }
  if (node.kind == YamlNode::Kind::kSequence && node.items.empty()) {
    return {.complaint = "expected auto, or a list of ranks such as [1, 3], not an empty one"};
  }
  const bool is_from_zero = !node.items.empty() && node.items.front().text == "0";
  Read<std::vector<int>> read = read_ascending(node, {is_from_zero ? 0U : 1U, 65'536}, "ranks");
  if (is_from_zero && read.complaint.empty()) {
    return {.complaint = fmt::format("workers are named by rank, from 1: '{}' is '{}' now",
                                     list_text(read.value), ranks_text(read.value))};
  }
  std::ranges::for_each(read.value, [](int& worker) { --worker; });
  return read;
}

/// Reads the cuts of a network; nothing for auto.
Read<std::optional<std::vector<int>>> read_cuts(const YamlNode& node) {
  if (is_auto(node)) {
    return {};
  }
  Read<std::vector<int>> read = read_ascending(node, kCuts, "blocks");
  return {.value = std::move(read.value), .complaint = std::move(read.complaint)};
}

/// Reads the micro-batches of each worker; empty for auto.
Read<std::vector<int>> read_shares(const YamlNode& node) {
  if (is_auto(node)) {
    return {};
  }
  if (node.kind != YamlNode::Kind::kSequence || node.items.empty()) {
    return {.complaint = fmt::format(
                "expected auto, or a list of micro-batches a worker such as [5, 5, 4, 2], {}",
                unlike(node))};
  }
  return read_numbers(node, kShares);
}

Key shares_key() {
  Key key = make_key(
      {"layout.shares", "",
       "Micro-batches of each worker, as in [5, 5, 4, 2]; auto: an even split (docs/going-on.md)"},
      "auto or list of whole numbers", "from 1, together training.microbatches");
  key.changes_weights = false;
  key.set = [](const YamlNode& node, JobSpec& job) {
    return read_shares(node).put_into(job.layout.shares);
  };
  key.get = [](const JobSpec& job) {
    return job.layout.shares.empty() ? std::string("auto") : list_text(job.layout.shares);
  };
  return later(std::move(key));
}

Key cuts_key(NetworkId id, const std::string& network) {
  Key key = make_key({"layout.cuts." + network, "",
                      fmt::format("Blocks before which the {} is cut, as in [2]; []: not cut; "
                                  "auto: layout.stages chunks (docs/pipeline-stages.md)",
                                  network)},
                     "auto or list of whole numbers", "blocks from 1, ascending");
  key.changes_weights = false;
  key.set = [id](const YamlNode& node, JobSpec& job) {
    return read_cuts(node).put_into(job.layout.networks[id].cuts);
  };
  key.get = [id](const JobSpec& job) {
    const auto& cuts = job.layout.networks[id].cuts;
    return cuts ? list_text(*cuts) : std::string("auto");
  };
  return key;
}

}  // namespace

void add_placement_keys(const Recipe& recipe, std::vector<Key>& keys) {
  keys.push_back(shares_key());
  const PerNetwork<NetworkSpec> networks = networks_of(recipe);
  for (const NetworkId id : networks.ids()) {
    Key key =
        make_key({"layout." + networks[id].name, "",
                  fmt::format("Ranks that hold the {}, as in [1, 3], or hosts whose ranks do, as "
                              "in [node-a]; auto: all (docs/pipeline-stages.md)",
                              networks[id].name)},
                 "auto or list of whole numbers or names", "ranks from 1, ascending, or hosts");
    key.changes_weights = false;
    key.set = [id](const YamlNode& node, JobSpec& job) {
      return read_workers(node).put_into(job.layout.networks[id].workers);
    };
    key.get = [id](const JobSpec& job) {
      const std::vector<int>& workers = job.layout.networks[id].workers;
      return workers.empty() ? std::string("auto") : ranks_text(workers);
    };
    keys.push_back(std::move(key));
  }
  for (const NetworkId id : networks.ids()) {
    keys.push_back(cuts_key(id, networks[id].name));
  }
}

}  // namespace gangway
