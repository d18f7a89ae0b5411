// SPDX-License-Identifier: MIT
#include "comm/calibrate/calibrator.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <sched.h>

#include "base/errors.hpp"
#include "comm/calibrate/sync_channel.hpp"
#include "comm/host/host_memory.hpp"
#include "comm/transport/peer_error.hpp"
#include "run/control_protocol.hpp"

namespace gangway::comm {
namespace {

using Clock = std::chrono::steady_clock;
using Pair = std::pair<int, int>;  ///< the worker that measures, and its peer

constexpr std::array<std::uint64_t, 4> kSizes{4096, 65536, 1U << 20U, 4U << 20U};
constexpr int kTries = 5;
constexpr int kFlagRoundTrips = 20;  // of one flag
constexpr const char* kWhat = "measuring the paths between workers";

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::optional<Pair> pair_within(const std::vector<int>& machines) {
  for (std::size_t a = 0; a < machines.size(); ++a) {
    for (std::size_t b = a + 1; b < machines.size(); ++b) {
      if (machines[a] == machines[b]) {
        return Pair{static_cast<int>(a), static_cast<int>(b)};
      }
    }
  }
  return std::nullopt;
}

std::optional<Pair> pair_between(const std::vector<int>& machines) {
  for (std::size_t b = 1; b < machines.size(); ++b) {
    if (machines[b] != machines.front()) {
      return Pair{0, static_cast<int>(b)};
    }
  }
  return std::nullopt;
}

/// Whether the tries of the next size fit the remaining budget, estimated from the last size.
bool fits(const std::vector<PathPoint>& points, std::uint64_t bytes, double rest) {
  if (points.empty()) {
    return true;
  }
  const double growth = static_cast<double>(bytes) / static_cast<double>(points.back().bytes);
  return points.back().seconds * growth * 2.0 * kTries < rest;
}

/// Runs on the measuring worker: sends a message, gets it back, and records half the time.
std::vector<PathPoint> measure_messages(SyncChannel& channel, int peer,
                                        std::chrono::milliseconds budget) {
  std::vector<PathPoint> points;
  std::vector<std::byte> buffer(kSizes.back());
  const Clock::time_point start = Clock::now();
  const double allowed = std::chrono::duration<double>(budget).count();
  for (const std::uint64_t bytes : kSizes) {
    if (!fits(points, bytes, allowed - seconds_since(start))) {
      break;
    }
    const std::span<std::byte> message = std::span(buffer).first(bytes);
    double best = 0.0;
    for (int i = 0; i < kTries; ++i) {
      channel.send_number(peer, bytes);
      const Clock::time_point begin = Clock::now();
      channel.send(peer, message);
      channel.receive(peer, message);
      const double seconds = seconds_since(begin) / 2.0;
      best = i == 0 ? seconds : std::min(best, seconds);
    }
    points.push_back({bytes, best});
  }
  channel.send_number(peer, 0);
  return points;
}

void answer_messages(SyncChannel& channel, int peer) {
  std::vector<std::byte> buffer(kSizes.back());
  while (const std::uint64_t bytes = channel.receive_number(peer)) {
    const std::span<std::byte> message = std::span(buffer).first(bytes);
    channel.receive(peer, message);
    channel.send(peer, message);
  }
}

/// Two workers of a host, and memory of the second. Holds no value if the host cannot share memory.
struct SharedPair {
  HostMemory host;
  Arena memory;
};

std::optional<SharedPair> make_shared_pair(const Transport& transport, const Pair& pair,
                                           const std::string& token) {
  try {
    HostMemory host({.members = {pair.first, pair.second},
                     .worker = transport.worker(),
                     .epoch = transport.epoch(),
                     .token = token + "paths",
                     .num_flags = 1});
    const bool lends = transport.worker() == pair.second;
    Arena memory = host.allocate_own(lends ? kSizes.back() / sizeof(float) : 0);
    std::fill_n(memory.data(), memory.size(), 1.0F);
    return SharedPair{std::move(host), std::move(memory)};
  } catch (const EnvironmentError&) {
    return std::nullopt;  // messages remain
  }
}

void wait_for_flag(const HostGroup& group, std::size_t member, std::uint64_t value) {
  const Deadline deadline(kStartDeadline);
  while (group.published(member, 0) < value) {
    if (deadline.expired()) {
      const WorkerIndex worker(group.members()[member]);
      throw PeerError(worker,
                      fmt::format("rank {} is silent ({}); is it alive?", rank_of(worker), kWhat));
    }
    (void)::sched_yield();
  }
}

std::vector<PathPoint> read_shared_memory(HostGroup& group) {
  double latency = 0.0;
  for (std::uint64_t value = 1; value <= kFlagRoundTrips; ++value) {
    const Clock::time_point begin = Clock::now();
    group.publish(0, value);
    wait_for_flag(group, 1, value);
    const double seconds = seconds_since(begin) / 2.0;
    latency = value == 1 ? seconds : std::min(latency, seconds);
  }
  std::vector<PathPoint> points;
  std::vector<std::byte> copy(kSizes.back());
  for (const std::uint64_t bytes : kSizes) {
    double best = 0.0;
    for (int i = 0; i < kTries; ++i) {
      const Clock::time_point begin = Clock::now();
      std::memcpy(copy.data(), group.own_memory(1, 0), bytes);
      const double seconds = seconds_since(begin);
      best = i == 0 ? seconds : std::min(best, seconds);
    }
    points.push_back({bytes, latency + best});
  }
  return points;
}

/// Called by both workers of the pair. Only `pair.first` gets points; none without shared memory.
std::vector<PathPoint> measure_shared_memory(Transport& transport, SyncChannel& channel,
                                             const Pair& pair, const std::string& token) {
  const bool reads = transport.worker() == pair.first;
  const int peer = reads ? pair.second : pair.first;
  std::optional<SharedPair> shared = make_shared_pair(transport, pair, token);
  channel.send_number(peer, shared.has_value() ? 1 : 0);
  if (channel.receive_number(peer) == 0 || !shared) {
    return {};
  }
  HostGroup group = std::move(shared->host).connect(kSizes.back(), Deadline(kStartDeadline));
  if (reads) {
    return read_shared_memory(group);
  }
  for (std::uint64_t value = 1; value <= kFlagRoundTrips; ++value) {
    wait_for_flag(group, 0, value);
    group.publish(0, value);
  }
  return {};
}

void add_path(Calibration& calibration, PathKind path, std::vector<PathPoint> points) {
  if (!points.empty()) {
    calibration.paths.push_back({path, std::move(points)});
  }
}

/// Runs this worker's part of the measurements; the result is complete at worker 0.
Calibration measure(Transport& transport, SyncChannel& channel, const CalibratorSetup& setup) {
  const int me = transport.worker();
  Calibration found;
  if (const auto pair = pair_within(setup.machines)) {
    if (me == pair->first || me == pair->second) {
      add_path(found, PathKind::kSharedMemory,
               measure_shared_memory(transport, channel, *pair, setup.token));
    }
    if (me == pair->first) {
      add_path(found, PathKind::kMessagesWithinHost,
               measure_messages(channel, pair->second, setup.budget));
    } else if (me == pair->second) {
      answer_messages(channel, pair->first);
    }
    if (pair->first != 0 && me == pair->first) {
      channel.send_text(0, to_json(found, TransportKind::kAuto));
    } else if (pair->first != 0 && me == 0) {
      found = parse_calibration(channel.receive_text(pair->first));
    }
  }
  if (const auto pair = pair_between(setup.machines)) {
    if (me == pair->first) {
      add_path(found, PathKind::kMessagesBetweenHosts,
               measure_messages(channel, pair->second, setup.budget));
    } else if (me == pair->second) {
      answer_messages(channel, pair->first);
    }
  }
  return found;
}

/// Whether the record has every possible path. Shared memory may lack, as the host may refuse it.
bool serves(const std::optional<Calibration>& recorded, const std::vector<int>& machines) {
  return recorded && std::ranges::all_of(possible_paths(machines), [&](PathKind path) {
           return path == PathKind::kSharedMemory ||
                  std::ranges::find(recorded->paths, path, &PathFigures::path) !=
                      recorded->paths.end();
         });
}

}  // namespace

Calibration calibrate(Transport& transport, const CalibratorSetup& setup) {
  SyncChannel channel(transport, kWhat);
  if (transport.worker() != 0) {
    if (channel.receive_number(0) != 0) {
      (void)measure(transport, channel, setup);
    }
    return parse_calibration(channel.receive_text(0));
  }
  const bool is_known = serves(setup.recorded, setup.machines);
  for (int peer = 1; peer < transport.num_workers(); ++peer) {
    channel.send_number(peer, is_known ? 0 : 1);
  }
  const Calibration calibration = is_known ? *setup.recorded : measure(transport, channel, setup);
  // Worker 0 parses the text too, so that all workers choose by equal numbers.
  const std::string text = to_json(calibration, TransportKind::kAuto);
  for (int peer = 1; peer < transport.num_workers(); ++peer) {
    channel.send_text(peer, text);
  }
  return parse_calibration(text);
}

}  // namespace gangway::comm
