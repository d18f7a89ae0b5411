// SPDX-License-Identifier: MIT
// Computes what a worker's place costs: its compute speed beside other workers of its node, and its
// part in the exchange of each network. Pure.
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

/// Returns the number of workers of each node that has any, by node number.
[[nodiscard]] std::map<int, int> workers_by_node(const std::vector<WorkerPlace>& places);

/// Returns the device at `place` while `beside` workers, itself included, compute on its node.
[[nodiscard]] SimulatedDevice device_at(const PlanInput& input, const WorkerPlace& place,
                                        int beside);

/// The part of one worker in all exchanges of its group.
struct ExchangeMember {
  PartialSums sums;
  int microbatches = 1;  ///< of this worker
  int workers = 1;       ///< members of the group
  // Figures of the worker's host.
  int host_workers = 1;
  double host_share = 1.0;  ///< share of all slices that the host's workers own
  int host_sums = 1;        ///< sums that the host sends for each slice owned elsewhere
  int host_partials = 1;    ///< partial sums of all workers of the host
  int sources = 1;          ///< sums that each owner of the host adds up
  int other_hosts = 0;
  double seconds_per_byte = 0.0;  ///< link time of a byte that the host sends, by its slowest link
  double latency_seconds = 0.0;
  double messages = 0.0;  ///< that a lane sends for a bucket's gradients, and again for its weights
  auto operator<=>(const ExchangeMember&) const = default;
};

/// Bytes of one element on the wire between hosts.
struct WireBytes {
  double gradient = 4.0;
  double weight = 4.0;
};
[[nodiscard]] WireBytes wire_bytes_of(const JobSpec& job, NetworkId network);

/// The workers that hold the same network, or the same chunk of it, and exchange it.
class ExchangeGroup {
 public:
  /// @param members  the micro-batches of each are those for this network; a host's are adjacent
  /// @param microbatches  of all members together
  ExchangeGroup(const Cluster& cluster, std::vector<WorkerPlace> members, int microbatches);

  [[nodiscard]] const std::vector<WorkerPlace>& places() const { return members_; }
  [[nodiscard]] ExchangeMember member(std::size_t index) const;
  /// Returns the bytes that all hosts send to exchange `elements`: gradients to the owners, new
  /// weights back, as comm::bytes_between_hosts().
  [[nodiscard]] double sent_bytes(double elements, const WireBytes& wire) const;

 private:
  /// The members that share memory.
  struct Host {
    int node = 0;
    MicrobatchRange range;  ///< of all its members
    int workers = 0;
    int partials = 0;  ///< partial sums of all its members
    int sums = 0;      ///< the fewest whole subtrees of `range`
  };
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
  std::map<int, std::vector<std::pair<int, const Link*>>> exceptions_;  // by node: other node, link
  int all_sums_ = 0;
};

/// The part of a network that a group exchanges.
struct Exchanged {
  NetworkId network{};
  double share = 1.0;  ///< of the network's weights
  std::vector<BucketLoad> buckets;
};
/// @param sharing  simulated workers that divide the messages of their host among them
[[nodiscard]] ExchangePart exchange_part(const PlanInput& input, const Exchanged& what,
                                         const ExchangeMember& member,
                                         const SimulatedDevice& device, int sharing = 1);

}  // namespace gangway::plan
