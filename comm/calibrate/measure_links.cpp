// SPDX-License-Identifier: MIT
#include "comm/calibrate/measure_links.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "comm/calibrate/calibrator.hpp"
#include "comm/calibrate/sync_channel.hpp"
#include "comm/transport/group_transport.hpp"

namespace gangway::comm {
namespace {

/// The workers of each host.
std::vector<std::vector<int>> workers_of_hosts(const std::vector<int>& machines) {
  std::vector<std::vector<int>> hosts;
  std::vector<int> seen;
  for (int worker = 0; worker < static_cast<int>(machines.size()); ++worker) {
    const int machine = machines[static_cast<std::size_t>(worker)];
    const auto found = std::ranges::find(seen, machine);
    if (found == seen.end()) {
      seen.push_back(machine);
      hosts.push_back({worker});
    } else {
      hosts[static_cast<std::size_t>(found - seen.begin())].push_back(worker);
    }
  }
  return hosts;
}

/// Measures one pair of hosts. Workers `a` and `b` both call it; both get the figures.
Calibration measure_pair(Transport& transport, const LinkSetup& setup, int a, int b) {
  GroupTransport pair(transport, {a, b});
  const auto machine_of = [&](int worker) {
    return setup.machines[static_cast<std::size_t>(worker)];
  };
  return calibrate(pair, {.machines = {machine_of(a), machine_of(b)},
                          .token = fmt::format("{}{}x{}", setup.token, a, b),
                          .budget = setup.budget});
}

}  // namespace

LinkTable measure_links(Transport& transport, const LinkSetup& setup) {
  const int me = transport.worker();
  const std::vector<std::vector<int>> hosts = workers_of_hosts(setup.machines);
  const auto first_of = [&](int host) { return hosts[static_cast<std::size_t>(host)].front(); };
  LinkTable found;
  const auto measure = [&](int a, int b, int worker_a, int worker_b) {
    if (me != worker_a && me != worker_b) {
      return;
    }
    Calibration figures = measure_pair(transport, setup, worker_a, worker_b);
    if (me == worker_a) {
      found.links.push_back({.a = a, .b = b, .figures = std::move(figures)});
    }
  };
  for (int host = 0; host < static_cast<int>(hosts.size()); ++host) {
    const std::vector<int>& workers = hosts[static_cast<std::size_t>(host)];
    found.hosts.push_back(setup.names[static_cast<std::size_t>(workers.front())]);
    if (workers.size() > 1) {
      measure(host, host, workers[0], workers[1]);
    }
  }
  for (const auto& round : rounds_of_pairs(static_cast<int>(hosts.size()))) {
    for (const auto& [a, b] : round) {
      measure(a, b, first_of(a), first_of(b));
    }
  }
  SyncChannel channel(transport, "collecting the figures of links");
  for (int host = 0; host < static_cast<int>(hosts.size()); ++host) {
    if (first_of(host) == 0) {
      continue;
    }
    if (me == first_of(host)) {
      channel.send_text(0, to_json(found));
    } else if (me == 0) {
      std::ranges::move(parse_link_table(channel.receive_text(first_of(host))).links,
                        std::back_inserter(found.links));
    }
  }
  if (me != 0) {
    return {};
  }
  std::ranges::sort(found.links, {},
                    [](const HostLink& link) { return std::pair(link.a, link.b); });
  return found;
}

}  // namespace gangway::comm
