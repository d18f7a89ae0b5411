// SPDX-License-Identifier: MIT
#include "launch/going_on/host_roster.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gangway::launch {

void HostRoster::drain(const Lineup& now, const std::set<int>& ranks,
                       const std::function<bool(const std::string&)>& is_this_host) {
  workers_ = now.workers - static_cast<int>(ranks.size());
  for (const Host& left : hosts_without(now.hosts, now.workers, ranks, is_this_host)) {
    const auto known = std::ranges::find(hosts_, left.name, &Host::name);
    if (known != hosts_.end()) {
      known->slots = left.slots;
    }
  }
}

void HostRoster::lost(const std::string& host, TimePoint now) {
  Record& record = records_[host];
  if (now - std::exchange(record.last, now) >= kLossesCount) {
    record.losses = 0;  // losses far apart do not indicate a bad host
  }
  if (++record.losses >= kMostLosses) {
    record = {.losses = 0, .last = now, .out_until = now + kAfterLosses, .is_silent = false};
  }
}

void HostRoster::silent(const std::string& host, TimePoint now) {
  records_[host] = {.losses = 0, .last = now, .out_until = now + kWithoutAnswer, .is_silent = true};
}

std::vector<Host> HostRoster::to_ask(const Lineup& now, TimePoint time) const {
  std::vector<Host> asked;
  std::ranges::copy_if(hosts_, std::back_inserter(asked), [&](const Host& host) {
    const auto record = records_.find(host.name);
    return now.workers < workers_ && host.slots > 0 &&
           std::ranges::find(now.left_out, host.name) != now.left_out.end() &&
           (record == records_.end() || record->second.is_silent ||
            record->second.out_until <= time);
  });
  return asked;
}

Lineup HostRoster::without(const std::function<bool(const Record&)>& is_out) const {
  Lineup lineup;
  for (const Host& host : hosts_) {
    const auto record = records_.find(host.name);
    if (record != records_.end() && is_out(record->second)) {
      lineup.left_out.push_back(host.name);
    } else {
      lineup.hosts.push_back(host);
    }
  }
  lineup.workers = hosts_.empty() ? workers_ : std::min(workers_, count_slots(lineup.hosts));
  return lineup;
}

Lineup HostRoster::lineup(TimePoint now, int least,
                          const std::function<bool(const Lineup&)>& is_possible) const {
  const auto is_out = [&](const Record& record) { return now < record.out_until; };
  const auto is_silent = [&](const Record& record) { return is_out(record) && record.is_silent; };
  least = std::clamp(least, 1, std::max(1, workers_));
  Lineup lineup;
  for (const auto& out : {std::function<bool(const Record&)>(is_out),
                          std::function<bool(const Record&)>(is_silent)}) {
    lineup = without(out);
    while (lineup.workers >= least && !is_possible(lineup)) {
      --lineup.workers;
    }
    if (lineup.workers >= least) {
      return lineup;
    }
  }
  lineup.workers = 0;
  return lineup;
}

}  // namespace gangway::launch
