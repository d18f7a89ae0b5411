// SPDX-License-Identifier: MIT
#include "job/file/host_names.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gangway {
namespace {

bool is_name(const YamlNode& item) {
  return item.kind == YamlNode::Kind::kScalar && !item.text.empty() &&
         (item.is_quoted || item.text.find_first_not_of("0123456789-+.") != std::string::npos);
}

bool says_who_holds(const Key& key, const Recipe& recipe) {
  return std::ranges::any_of(recipe.networks, [&](const RecipeNetwork& network) {
    return key.path == fmt::format("layout.{}", network.name);
  });
}

/// Without a user and, of a name, without its domain.
std::string plain_name(const std::string& host) {
  const std::string name = host.substr(host.find('@') + 1);
  return name.find_first_not_of("0123456789.:") == std::string::npos
             ? name
             : name.substr(0, name.find('.'));
}

/// @return what is wrong; nothing: `workers` has those of `item` too
std::string add_workers(const YamlNode& item, const std::vector<std::string>& hosts,
                        std::set<int>& workers) {
  const std::size_t before = workers.size();
  bool is_known = false;
  for (std::size_t worker = 0; worker < hosts.size(); ++worker) {
    if (plain_name(hosts[worker]) == plain_name(item.text)) {
      is_known = true;
      workers.insert(static_cast<int>(worker));
    }
  }
  if (is_known && workers.size() == before) {
    return fmt::format("host '{}' is named twice; name it once", item.text);
  }
  std::vector<std::string> known;
  for (const std::string& host : hosts) {
    if (std::ranges::find(known, host) == known.end()) {
      known.push_back(host);
    }
  }
  return is_known ? std::string()
                  : fmt::format("no worker is on host '{}'; workers are on {}", item.text,
                                fmt::join(known, ", "));
}

/// @return as add_workers
std::string resolve(YamlNode& value, const std::vector<std::string>& hosts) {
  std::set<int> workers;
  for (const YamlNode& item : value.items) {
    std::string complaint = is_name(item)
                                ? add_workers(item, hosts, workers)
                                : "expected names of hosts alone, or numbers of workers alone";
    if (!complaint.empty()) {
      return complaint;
    }
  }
  value.items.clear();
  for (const int worker : workers) {
    value.items.push_back(
        {.kind = YamlNode::Kind::kScalar, .at = value.at, .text = std::to_string(worker)});
  }
  return {};
}

}  // namespace

std::vector<std::string> resolve_host_names(std::vector<Setting>& settings, const Recipe& recipe,
                                            const HostsOfWorkers& hosts, Problems& problems) {
  std::vector<std::string> words;
  for (auto setting = settings.begin(); setting != settings.end();) {
    YamlNode& value = setting->value;
    if (!says_who_holds(*setting->key, recipe) || value.kind != YamlNode::Kind::kSequence ||
        std::ranges::none_of(value.items, is_name)) {
      ++setting;
      continue;
    }
    const bool is_replaced =
        std::any_of(std::next(setting), settings.end(),
                    [&](const Setting& one) { return one.key == setting->key; });
    std::string complaint;
    if (!is_replaced) {
      std::vector<std::string> hosts_of_network;
      std::ranges::transform(value.items, std::back_inserter(hosts_of_network), &YamlNode::text);
      words.push_back(
          fmt::format("{}=[\"{}\"]", setting->key->path, fmt::join(hosts_of_network, "\",\"")));
      complaint = !hosts ? fmt::format(
                               "'{}' is a host, and hosts are known to `gangway run` alone; "
                               "number workers, as in [0, 2]",
                               value.items.front().text)
                  : hosts->empty() ? std::string()
                                   : resolve(value, *hosts);
    }
    if (!complaint.empty()) {
      problems.add(fmt::format("{}: {}", setting->origin.text, complaint));
    }
    const bool is_workers = !is_replaced && complaint.empty() && hosts && !hosts->empty();
    setting = is_workers ? std::next(setting) : settings.erase(setting);
  }
  return words;
}

}  // namespace gangway
