// SPDX-License-Identifier: MIT
#include "launch/going_on/host_registry.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gangway::launch {

void HostRegistry::drain(const HostAllocation& now, const std::set<Rank>& ranks,
                         const std::function<bool(const std::string&)>& is_this_host) {
  workers_ = now.workers - static_cast<int>(ranks.size());
  for (const Host& left : hosts_without(now.hosts, now.workers, ranks, is_this_host)) {
    const auto known = std::ranges::find(hosts_, left.name, &Host::name);
    if (known != hosts_.end()) {
      known->slots = left.slots;
    }
  }
}

void HostRegistry::lost(const std::string& host, TimePoint now) {
  Record& record = records_[host];
  if (now - std::exchange(record.last, now) >= kLossesCount) {
    record.losses = 0;  // losses far apart do not indicate a bad host
  }
  if (++record.losses >= kMostLosses) {
    record = {.losses = 0, .last = now, .out_until = now + kAfterLosses, .is_silent = false};
  }
}

void HostRegistry::silent(const std::string& host, TimePoint now) {
  records_[host] = {.losses = 0, .last = now, .out_until = now + kWithoutAnswer, .is_silent = true};
}

std::vector<Host> HostRegistry::to_ask(const HostAllocation& now, TimePoint time) const {
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

HostAllocation HostRegistry::without(const std::function<bool(const Record&)>& is_out) const {
  HostAllocation allocation;
  for (const Host& host : hosts_) {
    const auto record = records_.find(host.name);
    if (record != records_.end() && is_out(record->second)) {
      allocation.left_out.push_back(host.name);
    } else {
      allocation.hosts.push_back(host);
    }
  }
  allocation.workers =
      hosts_.empty() ? workers_ : std::min(workers_, count_slots(allocation.hosts));
  return allocation;
}

HostAllocation HostRegistry::allocation(
    TimePoint now, int least, const std::function<bool(const HostAllocation&)>& is_possible) const {
  const auto is_out = [&](const Record& record) { return now < record.out_until; };
  const auto is_silent = [&](const Record& record) { return is_out(record) && record.is_silent; };
  least = std::clamp(least, 1, std::max(1, workers_));
  HostAllocation allocation;
  for (const auto& out : {std::function<bool(const Record&)>(is_out),
                          std::function<bool(const Record&)>(is_silent)}) {
    allocation = without(out);
    while (allocation.workers >= least && !is_possible(allocation)) {
      --allocation.workers;
    }
    if (allocation.workers >= least) {
      return allocation;
    }
  }
  allocation.workers = 0;
  return allocation;
}

}  // namespace gangway::launch
