// SPDX-License-Identifier: MIT
// What follows from where workers are: how fast they compute beside one another, and what each has
// to do with exchanges of what several hold. Pure.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "plan/candidate.hpp"
#include "plan/partial_sums.hpp"
#include "plan/plan_input.hpp"
#include "plan/simulation.hpp"

namespace gangway::plan {

/// Of each node that has some, by its number.
[[nodiscard]] std::map<int, int> workers_by_node(const std::vector<WorkerPlace>& places);

/// Where `beside` workers of its node's devices compute at once.
[[nodiscard]] SimulatedDevice device_at(const PlanInput& input, const WorkerPlace& place,
                                        int beside);

/// A worker's part of exchanges, whatever is exchanged.
struct ExchangeMember {
  PartialSums sums;
  int microbatches = 1;  ///< of its own
  int workers = 1;       ///< all members
  // Of its host.
  int host_workers = 1;
  double host_share = 1.0;  ///< of all slices, those that the host's workers own
  int host_sums = 1;        ///< that the host sends for each slice owned elsewhere
  int host_partials = 1;    ///< of all its workers
  int sources = 1;          ///< sums that meet at an owner of the host
  int other_hosts = 0;
  double seconds_per_byte = 0.0;  ///< of what the host sends, by its slowest link
  double latency_seconds = 0.0;
  double messages = 0.0;  ///< that a lane sends for one bucket, each way
  auto operator<=>(const ExchangeMember&) const = default;
};

/// Of an element that goes from host to host.
struct WireBytes {
  double gradient = 4.0;
  double weight = 4.0;
};
[[nodiscard]] WireBytes wire_bytes_of(const JobSpec& job, NetworkId network);

/// Workers that hold the same of a network, all of it or a chunk.
class ExchangeGroup {
 public:
  /// @param members  with the micro-batches for which they hold it; those of a host together
  /// @param microbatches  of all of them
  ExchangeGroup(const Cluster& cluster, std::vector<WorkerPlace> members, int microbatches);

  [[nodiscard]] const std::vector<WorkerPlace>& places() const { return members_; }
  [[nodiscard]] ExchangeMember member(std::size_t index) const;
  /// Bytes that all hosts send in an exchange of so many elements: gradients there, new weights
  /// back, as comm::bytes_between_hosts().
  [[nodiscard]] double sent_bytes(double elements, const WireBytes& wire) const;

 private:
  /// Members that share memory.
  struct Host {
    int node = 0;
    MicrobatchRange range;  ///< of all of them
    int workers = 0;
    int partials = 0;  ///< of all of them
    int sums = 0;      ///< the fewest whole subtrees of the host
  };
  void find_hosts(int microbatches);
  void set_links(const Host& host, ExchangeMember& member) const;
  [[nodiscard]] double share_of(const Host& host) const {
    return static_cast<double>(host.workers) / static_cast<double>(members_.size());
  }

  const Cluster& cluster_;
  std::vector<WorkerPlace> members_;
  std::vector<std::size_t> host_of_;  // by member
  std::vector<PartialSums> sums_;     // by member
  std::vector<Host> hosts_;
  std::map<int, int> hosts_on_node_;
  std::map<int, std::vector<std::pair<int, const Link*>>> exceptions_;  // by node, to which other
  int all_sums_ = 0;
};

/// What of a network is exchanged.
struct Exchanged {
  NetworkId network{};
  double share = 1.0;  ///< of its weights
  std::vector<BucketLoad> buckets;
};
/// @param sharing  simulated workers that send what their host has to, each its part
[[nodiscard]] ExchangePart exchange_part(const PlanInput& input, const Exchanged& what,
                                         const ExchangeMember& member,
                                         const SimulatedDevice& device, int sharing = 1);

}  // namespace gangway::plan
