// SPDX-License-Identifier: MIT
#include "job/file/host_names.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "job/file/job_sources.hpp"
#include "job/rules/rules.hpp"

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

/// Removes the user, and a name's domain.
std::string plain_name(const std::string& host) {
  const std::string name = host.substr(host.find('@') + 1);
  return name.find_first_not_of("0123456789.:") == std::string::npos
             ? name
             : name.substr(0, name.find('.'));
}

/// @return the complaint; empty: `workers` now includes the workers of `named`
std::string add_workers(const std::string& named, const std::vector<std::string>& hosts,
                        std::set<int>& workers) {
  const std::size_t before = workers.size();
  bool is_known = false;
  for (std::size_t worker = 0; worker < hosts.size(); ++worker) {
    if (plain_name(hosts[worker]) == plain_name(named)) {
      is_known = true;
      workers.insert(static_cast<int>(worker));
    }
  }
  if (is_known && workers.size() == before) {
    return fmt::format("host '{}' is named twice; name it once", named);
  }
  std::vector<std::string> known;
  for (const std::string& host : hosts) {
    if (std::ranges::find(known, host) == known.end()) {
      known.push_back(host);
    }
  }
  return is_known ? std::string()
                  : fmt::format("no worker is on host '{}'; workers are on {}", named,
                                fmt::join(known, ", "));
}

}  // namespace

std::vector<NamedHosts> take_host_names(std::vector<Setting>& settings, const Recipe& recipe,
                                        bool may_be, Problems& problems) {
  std::vector<NamedHosts> taken;
  for (auto setting = settings.begin(); setting != settings.end();) {
    const YamlNode& value = setting->value;
    if (!says_who_holds(*setting->key, recipe) || value.kind != YamlNode::Kind::kSequence ||
        std::ranges::none_of(value.items, is_name)) {
      ++setting;
      continue;
    }
    const bool is_replaced =
        std::any_of(std::next(setting), settings.end(),
                    [&](const Setting& one) { return one.key == setting->key; });
    const std::string place = setting->origin.text;
    if (is_replaced) {
    } else if (!may_be) {
      problems.add(
          fmt::format("{}: '{}' is a host, and hosts are known to `gangway run` alone; "
                      "name ranks, as in [1, 3]",
                      place, value.items.front().text));
    } else if (!std::ranges::all_of(value.items, is_name)) {
      problems.add(place + ": expected names of hosts alone, or ranks alone");
    } else {
      NamedHosts named{.place = place,
                       .network = setting->key->path.substr(setting->key->path.find('.') + 1),
                       .hosts = {}};
      std::ranges::transform(value.items, std::back_inserter(named.hosts), &YamlNode::text);
      taken.push_back(std::move(named));
    }
    setting = settings.erase(setting);
  }
  return taken;
}

void renumber_former_workers(std::vector<Setting>& settings, const Recipe& recipe) {
  std::vector<YamlNode*> numbers;
  for (Setting& setting : settings) {
    if (setting.origin.layer == Layer::kFile && says_who_holds(*setting.key, recipe)) {
      std::ranges::for_each(setting.value.items, [&](YamlNode& item) { numbers.push_back(&item); });
    }
  }
  if (std::ranges::find(numbers, "0", &YamlNode::text) == numbers.end() ||
      std::ranges::any_of(numbers, [](const YamlNode* number) { return is_name(*number); })) {
    return;
  }
  for (YamlNode* number : numbers) {
    number->text = std::to_string(std::strtoull(number->text.c_str(), nullptr, 10) + 1);
  }
}

void place_on_hosts(JobSpec& job, const std::vector<NamedHosts>& named,
                    const std::vector<std::string>& hosts) {
  for (const NamedHosts& one : named) {
    std::set<int> workers;
    for (const std::string& host : one.hosts) {
      if (const std::string complaint = add_workers(host, hosts, workers); !complaint.empty()) {
        throw JobFileError({fmt::format("{}: {}", one.place, complaint)});
      }
    }
    job.placement(one.network).workers = {workers.begin(), workers.end()};
  }
  if (const std::string complaint = named.empty() ? "" : broken_rule(job); !complaint.empty()) {
    throw JobFileError({complaint});
  }
}

}  // namespace gangway
