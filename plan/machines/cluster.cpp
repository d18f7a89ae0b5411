// SPDX-License-Identifier: MIT
#include "plan/machines/cluster.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"
#include "base/text/quantities.hpp"
#include "base/text/suggestion.hpp"
#include "job/devices/device_facts.hpp"
#include "job/schema/yaml_tree.hpp"

namespace gangway::plan {
namespace {

namespace fs = std::filesystem;

constexpr int kMostDevices = 65'536;
constexpr std::size_t kMostExceptions = 65'536;

/// Parses a cluster file and collects its problems, each with its place.
class ClusterReader {
 public:
  ClusterReader(std::string name, fs::path devices)
      : name_(std::move(name)), devices_(std::move(devices)) {}

  Cluster read(std::string_view text) {
    const YamlResult yaml = read_yaml(text);
    for (const YamlProblem& problem : yaml.problems) {
      complain(problem.at, problem.message);
    }
    Cluster cluster{.name = name_};
    if (problems_.empty()) {
      read_root(yaml.root, cluster);
    }
    if (!problems_.empty()) {
      throw ConfigError(fmt::format("{}", fmt::join(problems_, "\n")));
    }
    return cluster;
  }

 private:
  void complain(YamlPosition at, const std::string& message) {
    problems_.push_back(at.line > 0
                            ? fmt::format("{}:{}:{}: {}", name_, at.line, at.column, message)
                            : fmt::format("{}: {}", name_, message));
  }

  /// Reports keys that are not in `known`. @return whether `map` is a map
  bool require_keys(const YamlNode& map, const std::string& what,
                    const std::vector<std::string>& known) {
    if (map.kind != YamlNode::Kind::kMap) {
      complain(map.at, fmt::format("{}: expected a map with {}", what, fmt::join(known, ", ")));
      return false;
    }
    for (const YamlEntry& entry : map.entries) {
      if (std::ranges::find(known, entry.key) == known.end()) {
        const auto nearest = nearest_word(entry.key, known);
        complain(entry.at,
                 fmt::format("{} has no key '{}'{}", what, entry.key,
                             nearest ? fmt::format("; did you mean '{}'?", *nearest)
                                     : fmt::format(": it has {}", fmt::join(known, ", "))));
      }
    }
    return true;
  }

  static const YamlNode* find(const YamlNode& map, const std::string& key) {
    const auto found = std::ranges::find(map.entries, key, &YamlEntry::key);
    return found == map.entries.end() ? nullptr : &found->value;
  }

  /// Returns the value of `key` as `parse` reads it; `otherwise` if it is missing or wrong.
  template <typename Value, typename Parse>
  Value value_of(const YamlNode& map, const std::string& key, Value otherwise, const Parse& parse,
                 const char* expected) {
    const YamlNode* node = find(map, key);
    if (node == nullptr) {
      return otherwise;
    }
    const std::optional<Value> value =
        node->kind == YamlNode::Kind::kScalar ? parse(node->text) : std::nullopt;
    if (!value) {
      complain(node->at, fmt::format("{}: expected {}{}", key, expected,
                                     node->kind == YamlNode::Kind::kScalar
                                         ? fmt::format(", not '{}'", node->text)
                                         : std::string()));
      return otherwise;
    }
    return *value;
  }

  void read_root(const YamlNode& root, Cluster& cluster) {
    if (!require_keys(root, "a cluster", {"nodes", "links"})) {
      return;
    }
    const YamlNode* nodes = find(root, "nodes");
    if (nodes == nullptr || nodes->kind != YamlNode::Kind::kSequence || nodes->items.empty()) {
      complain(root.at, "nodes: expected a list of nodes, as - {name: node, devices: 8}");
      return;
    }
    for (const YamlNode& node : nodes->items) {
      read_nodes(node, cluster);
    }
    if (const YamlNode* links = find(root, "links")) {
      read_links(*links, cluster);
    } else if (cluster.num_devices() > 1) {
      complain(root.at,
               "links: missing; say what connects the devices, as links: {inside: {bandwidth: "
               "20GB/s}, between: {bandwidth: 10gbit}}");
    }
  }

  void read_nodes(const YamlNode& from, Cluster& cluster) {
    if (!require_keys(from, "a node",
                      {"name", "count", "devices", "device", "speed", "memory", "cores",
                       "price_per_hour", "launch"})) {
      return;
    }
    const DeviceFacts known = device_in(from);
    const int count = value_of(from, "count", 1, parse_count, "a whole number from 1");
    const int devices = value_of(from, "devices", 1, parse_count, "a whole number from 1");
    if (static_cast<std::int64_t>(count) * devices + cluster.num_devices() > kMostDevices) {
      complain(from.at, fmt::format("more than {} devices in all", kMostDevices));
      return;
    }
    const std::string name = value_of(
        from, "name", fmt::format("node{}", cluster.nodes.size()),
        [](const std::string& text) {
          return text.empty() || text.find_first_of("/=*: ") != std::string::npos
                     ? std::nullopt
                     : std::optional(text);
        },
        "a name without spaces and / = * :");
    ClusterNode node{
        .speeds = speeds_in(from, devices, known.speed),
        .memory_bytes = value_of(from, "memory", known.memory_bytes, parse_bytes,
                                 "the memory of a device, as 80GiB"),
        .cores = value_of(from, "cores", 0, parse_count, "a whole number from 1"),
        .price_per_hour = value_of(from, "price_per_hour", 0.0, parse_amount, "a number from 0")};
    node.is_guessed = std::ranges::any_of(node.speeds, [](double speed) { return speed != 1.0; });
    node.launch_seconds = value_of(
        from, "launch",
        known.launch_seconds.value_or(node.is_guessed && node.cores == 0 ? kLaunchSeconds : 0.0),
        parse_seconds, "the least that a kernel takes, as 4.5us");
    for (int i = 0; i < count; ++i) {
      node.name = count == 1 ? name : fmt::format("{}-{}", name, i);
      if (!names_.insert(node.name).second) {
        complain(from.at,
                 fmt::format("two nodes are called '{}': give one another name", node.name));
        return;
      }
      cluster.nodes.push_back(node);
    }
  }

  /// Returns the facts about the kind of device that `device` names.
  DeviceFacts device_in(const YamlNode& from) {
    const YamlNode* device = find(from, "device");
    if (device == nullptr) {
      return {};
    }
    const std::vector<std::string> names = device_kinds(devices_);
    if (std::ranges::find(names, device->text) == names.end()) {
      complain(device->at, fmt::format("device: nothing is known of '{}'; there are {}, or say "
                                       "speed and memory yourself",
                                       device->text, fmt::join(names, ", ")));
      return {};
    }
    return read_device(devices_, device->text);
  }

  std::vector<double> speeds_in(const YamlNode& from, int devices, double usual) {
    constexpr const char* kExpected =
        "a number above 0, of the device that was profiled, or a list of them, one a device";
    const YamlNode* speed = find(from, "speed");
    const auto number = static_cast<std::size_t>(devices);
    if (speed == nullptr || speed->kind != YamlNode::Kind::kSequence) {
      return std::vector<double>(number, value_of(from, "speed", usual, parse_positive, kExpected));
    }
    std::vector<double> speeds;
    for (const YamlNode& one : speed->items) {
      const auto value = parse_positive(one.text);
      if (!value) {
        complain(one.at, fmt::format("speed: expected {}", kExpected));
      }
      speeds.push_back(value.value_or(1.0));
    }
    if (speeds.size() != number) {
      complain(speed->at, fmt::format("speed: {} values for {} devices", speeds.size(), devices));
      speeds.resize(number, 1.0);
    }
    return speeds;
  }

  Link link_in(const YamlNode& from, Link link, const std::string& what,
               std::vector<std::string> known) {
    known.insert(known.end(), {"latency", "bandwidth", "shared"});
    if (!require_keys(from, what, known)) {
      return link;
    }
    link.latency_seconds =
        value_of(from, "latency", link.latency_seconds, parse_seconds, "a time, as 30us");
    link.bytes_per_second = value_of(from, "bandwidth", link.bytes_per_second, parse_rate,
                                     "a rate, as 25gbit or 3GB/s");
    link.is_shared = value_of(from, "shared", link.is_shared, parse_flag, "true or false");
    return link;
  }

  void read_links(const YamlNode& from, Cluster& cluster) {
    if (!require_keys(from, "links", {"inside", "between", "exceptions"})) {
      return;
    }
    require_link(from, "inside",
                 std::ranges::any_of(
                     cluster.nodes, [](const ClusterNode& node) { return node.num_devices() > 1; }),
                 cluster.inside);
    require_link(from, "between", cluster.nodes.size() > 1, cluster.between);
    const YamlNode* exceptions = find(from, "exceptions");
    if (exceptions != nullptr && exceptions->kind != YamlNode::Kind::kSequence) {
      complain(exceptions->at,
               "exceptions: expected a list, as - {a: node-0, b: node-3, bandwidth: 1gbit}");
      return;
    }
    for (const YamlNode& one :
         exceptions == nullptr ? std::vector<YamlNode>{} : exceptions->items) {
      read_exception(one, cluster);
    }
  }

  void require_link(const YamlNode& from, const std::string& key, bool is_needed, Link& link) {
    const YamlNode* given = find(from, key);
    if (given != nullptr) {
      link = link_in(*given, link, fmt::format("links.{}", key), {});
      if (given->kind == YamlNode::Kind::kMap && find(*given, "bandwidth") == nullptr) {
        complain(given->at,
                 fmt::format("links.{}: bandwidth is missing, as bandwidth: 25gbit", key));
      }
    } else if (is_needed) {
      complain(from.at,
               fmt::format("links: {} is missing, as {}: {{bandwidth: 25gbit}}", key, key));
    }
  }

  void read_exception(const YamlNode& from, Cluster& cluster) {
    const Link link = link_in(from, cluster.between, "an exception", {"a", "b"});
    std::vector<std::vector<int>> ends;
    for (const char* key : {"a", "b"}) {
      const YamlNode* end = from.kind == YamlNode::Kind::kMap ? find(from, key) : nullptr;
      if (end == nullptr) {
        complain(from.at, fmt::format("an exception needs {}: the name of a node", key));
        return;
      }
      try {
        ends.push_back(nodes_named(cluster, end->text));
      } catch (const ConfigError& error) {
        complain(end->at, error.what());
        return;
      }
    }
    if (ends[0].size() * ends[1].size() > kMostExceptions) {
      complain(from.at, fmt::format("an exception for more than {} pairs of nodes: give the other "
                                    "pairs the exception, or change links.between",
                                    kMostExceptions));
      return;
    }
    for (const int a : ends[0]) {
      for (const int b : ends[1]) {
        if (a != b) {
          cluster.exceptions[std::minmax(a, b)] = link;
        }
      }
    }
  }

  std::string name_;
  fs::path devices_;
  std::vector<std::string> problems_;
  std::set<std::string> names_;  // of nodes
};

}  // namespace

int Cluster::num_devices() const {
  int devices = 0;
  for (const ClusterNode& node : nodes) {
    devices += node.num_devices();
  }
  return devices;
}

double Cluster::fastest_speed() const {
  double fastest = 0.0;
  for (const ClusterNode& node : nodes) {
    fastest = std::max(fastest, *std::ranges::max_element(node.speeds));
  }
  return fastest;
}

const Link& Cluster::link(int node, int other) const {
  if (node == other) {
    return inside;
  }
  const auto found = exceptions.find(std::minmax(node, other));
  return found == exceptions.end() ? between : found->second;
}

Cluster parse_cluster(std::string_view text, const std::string& name, const fs::path& devices) {
  return ClusterReader(name, devices).read(text);
}

Cluster read_cluster(const fs::path& file, const fs::path& devices) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  if (!in || !(text << in.rdbuf())) {
    throw ConfigError(fmt::format(
        "{}: no such file; cluster files to begin with are in examples/clusters/", file.string()));
  }
  return parse_cluster(text.str(), file.string(), devices);
}

std::vector<int> nodes_named(const Cluster& cluster, const std::string& pattern) {
  const bool is_prefix = pattern.ends_with('*');
  const std::string prefix = pattern.substr(0, pattern.size() - (is_prefix ? 1 : 0));
  std::vector<int> found;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
    const std::string& name = cluster.nodes[i].name;
    names.push_back(name);
    if (name == pattern || (is_prefix && name.starts_with(prefix))) {
      found.push_back(static_cast<int>(i));
    }
  }
  if (found.empty()) {
    const auto nearest = nearest_word(pattern, names);
    throw ConfigError(fmt::format(
        "there is no node '{}'{}", pattern,
        nearest ? fmt::format("; did you mean '{}'?", *nearest)
                : fmt::format(": the first one is '{}'", names.empty() ? "" : names.front())));
  }
  return found;
}

}  // namespace gangway::plan
