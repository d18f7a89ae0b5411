// SPDX-License-Identifier: MIT
#include "launch/hosts/compare_hosts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/table.hpp"

namespace gangway::launch {
namespace {

// A clock that is further off makes logs and curves hard to lay beside one another.
constexpr double kMostSeconds = 0.5;
// Of the most that a host of the job has: with less it is the one that runs out first.
constexpr double kLeastShare = 0.5;

/// A thing that all hosts should have alike.
struct SharedFact {
  const char* name;
  std::string (*value)(const HostFacts&);
  Health odd;  ///< how bad it is when one differs
  const char* remedy;
};

constexpr std::array kSharedFacts{
    SharedFact{"build", [](const HostFacts& facts) { return facts.build; }, Health::kBad,
               "install one build on all hosts"},
    SharedFact{"Open MPI", [](const HostFacts& facts) { return facts.mpi; }, Health::kBad,
               "install one version on all hosts"},
    SharedFact{"LibTorch", [](const HostFacts& facts) { return facts.libtorch; }, Health::kBad,
               "run ./launch/setup of one checkout on all: another version gives other numbers"},
    SharedFact{"NCCL", [](const HostFacts& facts) { return facts.nccl; }, Health::kBad,
               "run ./launch/setup of one checkout on all"},
    SharedFact{"processor", [](const HostFacts& facts) { return facts.processor; }, Health::kNote,
               "workers that compute on them have other bits and are refused, unless "
               "numerics.processor names what all have (avx2, say) or "
               "numerics.mixed_processors=allow declares the run inexact"},
    SharedFact{"driver", [](const HostFacts& facts) { return facts.driver; }, Health::kNote,
               "jobs run with either as long as it is new enough for CUDA"},
    SharedFact{"GPUs", [](const HostFacts& facts) { return std::to_string(facts.gpus); },
               Health::kNote, "name as many slots for each in the hostfile"},
    SharedFact{"cores", [](const HostFacts& facts) { return std::to_string(facts.cores); },
               Health::kNote, "name as many slots for each in the hostfile"},
};

/// A thing of which each host should have its share.
struct HostRoom {
  const char* name;
  double (*gib)(const HostFacts&);
};

constexpr std::array kRooms{
    HostRoom{"memory", [](const HostFacts& facts) { return facts.memory_gib; }},
    HostRoom{"/dev/shm", [](const HostFacts& facts) { return facts.shared_memory_gib; }},
};

/// What most hosts have; the first host's where as many have another.
std::string usual(const std::vector<AskedHost>& hosts, const SharedFact& fact) {
  std::map<std::string, int> counts;
  std::string most;
  for (const AskedHost& host : hosts) {
    if (host.facts) {
      const std::string value = fact.value(*host.facts);
      ++counts[value];
      most = most.empty() ? value : most;
    }
  }
  for (const auto& [value, count] : counts) {
    most = count > counts[most] ? value : most;
  }
  return most;
}

double most_gib(const std::vector<AskedHost>& hosts, const HostRoom& room) {
  double most = 0;
  for (const AskedHost& host : hosts) {
    most = host.facts ? std::max(most, room.gib(*host.facts)) : most;
  }
  return most;
}

bool is_off(const ClockDifference& clock) {
  return std::abs(clock.ahead.count()) - clock.error.count() > kMostSeconds;
}

std::string clock_text(const ClockDifference& clock) {
  constexpr double kMilliseconds = 1e3;
  return fmt::format("{:+.2f} ms (+-{:.2f})", clock.ahead.count() * kMilliseconds,
                     clock.error.count() * kMilliseconds);
}

std::string marked(const std::string& value, Health health) {
  return health == Health::kGood ? value : value + (health == Health::kBad ? " !" : " *");
}

std::vector<std::string> row_of(const AskedHost& host, const std::vector<AskedHost>& hosts) {
  std::vector<std::string> cells{host.name};
  for (const SharedFact& fact : kSharedFacts) {
    const std::string value = host.facts ? fact.value(*host.facts) : "";
    cells.push_back(!host.facts || value == usual(hosts, fact) ? value : marked(value, fact.odd));
  }
  for (const HostRoom& room : kRooms) {
    const double gib = host.facts ? room.gib(*host.facts) : 0;
    const bool is_little = gib < kLeastShare * most_gib(hosts, room);
    cells.push_back(host.facts ? marked(fmt::format("{:.1f} GiB", gib),
                                        is_little ? Health::kNote : Health::kGood)
                               : "");
  }
  cells.push_back(host.facts ? host.facts->interface : "");
  cells.push_back(host.clock ? marked(clock_text(*host.clock),
                                      is_off(*host.clock) ? Health::kNote : Health::kGood)
                             : "");
  return cells;
}

void add_odd_facts(const std::vector<AskedHost>& hosts, std::vector<Finding>& findings) {
  for (const SharedFact& fact : kSharedFacts) {
    const std::string most = usual(hosts, fact);
    for (const AskedHost& host : hosts) {
      if (host.facts && fact.value(*host.facts) != most) {
        findings.push_back({fact.name, fact.odd,
                            fmt::format("{} has {}, others {}: {}", host.name,
                                        fact.value(*host.facts), most, fact.remedy)});
      }
    }
  }
}

void add_little_room(const std::vector<AskedHost>& hosts, std::vector<Finding>& findings) {
  for (const HostRoom& room : kRooms) {
    const double most = most_gib(hosts, room);
    for (const AskedHost& host : hosts) {
      if (host.facts && room.gib(*host.facts) < kLeastShare * most) {
        findings.push_back(
            {room.name, Health::kNote,
             fmt::format("{} has {:.1f} GiB, another {:.1f}: free some, or give it fewer slots",
                         host.name, room.gib(*host.facts), most)});
      }
    }
  }
}

}  // namespace

std::string hosts_table(const std::vector<AskedHost>& hosts) {
  std::vector<report::Column> columns{{.title = "host"}};
  for (const SharedFact& fact : kSharedFacts) {
    columns.push_back({.title = fact.name});
  }
  for (const HostRoom& room : kRooms) {
    columns.push_back({.title = room.name});
  }
  columns.push_back({.title = "interface"});
  columns.push_back({.title = "clock"});
  report::Table table(std::move(columns));
  for (const AskedHost& host : hosts) {
    table.add_row(row_of(host, hosts));
  }
  return table.text();
}

std::vector<Finding> compare_hosts(const std::vector<AskedHost>& hosts) {
  std::vector<Finding> findings;
  for (const AskedHost& host : hosts) {
    if (!host.facts) {
      findings.push_back(
          {"host", Health::kBad,
           fmt::format(
               "{} gave no answer ({}): is it up, is ssh allowed without a password, has it "
               "Open MPI and this program at the same place?",
               host.name, host.complaint)});
    }
  }
  add_odd_facts(hosts, findings);
  add_little_room(hosts, findings);
  for (const AskedHost& host : hosts) {
    if (host.clock && is_off(*host.clock)) {
      findings.push_back({"clock", Health::kNote,
                          fmt::format("{} is {:+.1f} s from this host: let NTP set both", host.name,
                                      host.clock->ahead.count())});
    }
  }
  return findings;
}

std::string hosts_json(const std::vector<AskedHost>& hosts) {
  const std::vector<Finding> findings = compare_hosts(hosts);
  auto text = nlohmann::ordered_json::parse(findings_json(findings));
  text["hosts"] = nlohmann::ordered_json::array();
  for (const AskedHost& host : hosts) {
    nlohmann::ordered_json entry{{"host", host.name}};
    if (host.facts) {
      entry.update(nlohmann::ordered_json::parse(facts_line(*host.facts)));
    }
    if (host.clock) {
      entry["clock_seconds"] = host.clock->ahead.count();
      entry["clock_error_seconds"] = host.clock->error.count();
    }
    text["hosts"].push_back(std::move(entry));
  }
  return text.dump(2) + "\n";
}

}  // namespace gangway::launch
