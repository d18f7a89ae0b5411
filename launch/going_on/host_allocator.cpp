// SPDX-License-Identifier: MIT
#include "launch/going_on/host_allocator.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace gangway::launch {

HostAllocator::HostAllocator(const std::vector<Host>& hosts, int workers, int least,
                             AllocationCallbacks questions)
    : registry_(hosts, workers),
      now_{.hosts = hosts, .workers = workers, .left_out = {}},
      least_(least),
      callbacks_(std::move(questions)) {}

std::string HostAllocator::host_of(Rank rank) const {
  const std::vector<std::string> hosts =
      hosts_of_workers(now_.hosts, now_.workers, callbacks_.is_this_host);
  const std::size_t place = worker_of(rank).place();
  return place < hosts.size() ? hosts[place] : std::string();
}

bool HostAllocator::after_loss(Rank rank, TimePoint now, const Wait& wait) {
  if (const std::string host = host_of(rank); !host.empty()) {
    registry_.lost(host, now);
  }
  return choose(now, wait);
}

void HostAllocator::drain(const std::set<Rank>& ranks, int workers) {
  registry_.drain(now_, ranks, callbacks_.is_this_host);
  now_.hosts = hosts_without(std::move(now_.hosts), now_.workers, ranks, callbacks_.is_this_host);
  now_.workers = workers;
}

void HostAllocator::resize(int workers, std::optional<std::vector<Host>> hosts, TimePoint now) {
  if (hosts) {
    registry_.use(*std::move(hosts));
  }
  registry_.want(workers);
  take_back(now);
}

int HostAllocator::heard(const std::vector<Host>& asked, const std::vector<std::string>& answer,
                         TimePoint now) {
  for (const Host& host : asked) {
    if (std::ranges::find(answer, host.name) != answer.end()) {
      registry_.back(host.name);
    } else {
      registry_.silent(host.name, now);
    }
  }
  return registry_.allocation(now, least_, callbacks_.is_possible).workers;
}

void HostAllocator::take_back(TimePoint now) {
  HostAllocation before = now_;
  if (!choose(now, [](const auto& /*hosts*/) { return std::nullopt; })) {  // no wait: all is saved
    now_ = std::move(before);
  }
}

bool HostAllocator::have_a_part_alone(const std::vector<std::string>& hosts,
                                      const HostAllocation& start) const {
  std::vector<std::string> all =
      hosts_of_workers(start.hosts, start.workers, callbacks_.is_this_host);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const auto is_named = [&](std::size_t host) {
    return std::ranges::find(hosts, all[host % all.size()]) != hosts.end();
  };
  for (std::size_t host = 0; host < all.size(); ++host) {
    if (is_named(host) && is_named(host + 1)) {
      return true;
    }
  }
  return false;
}

bool HostAllocator::choose(TimePoint now, const Wait& wait) {
  const HostAllocation before = now_;
  if (!choose_without_asking(now) || now_.hosts.empty()) {
    return now_.workers > 0;
  }
  std::vector<std::string> silent = callbacks_.find_silent(now_.hosts);
  for (const TimePoint end = now + kPatience; now < end && have_a_part_alone(silent, before);) {
    const std::optional<TimePoint> later = wait(silent);
    if (!later) {
      break;
    }
    now = *later;
    std::vector<Host> asked;
    std::ranges::transform(silent, std::back_inserter(asked),
                           [](const std::string& name) { return Host{.name = name}; });
    silent = callbacks_.find_silent(asked);
  }
  for (const std::string& host : silent) {
    registry_.silent(host, now);
  }
  return choose_without_asking(now);
}

bool HostAllocator::choose_without_asking(TimePoint now) {
  now_ = registry_.allocation(now, least_, callbacks_.is_possible);
  if (now_.workers == 0 && callbacks_.replicate_networks()) {
    now_ = registry_.allocation(now, least_, callbacks_.is_possible);
  }
  return now_.workers > 0;
}

}  // namespace gangway::launch
