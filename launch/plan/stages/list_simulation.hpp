// SPDX-License-Identifier: MIT
// Workers that run lists of instructions step after step, with costs in the place of work: compute
// threads, messages between them, exchanges of what several hold, and links. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "launch/plan/stages/node_costs.hpp"
#include "launch/plan/stages/staged_job.hpp"
#include "launch/plan/step_simulation.hpp"

namespace gangway::launch {

struct ListWorker {
  int node = 0;             ///< of the cluster
  double speed = 1.0;       ///< of its device, of the profiled one
  double slowdown = 1.0;    ///< of its compute, by the workers beside it
  double lane_steal = 0.0;  ///< share of its lane's work that compute loses where both work
};

/// A worker's part of a network's exchanges. What each bucket costs is its share of it.
struct ExchangePart {
  int group = 0;  ///< exchanges of one group go together, whoever is in it
  std::vector<BucketLoad> buckets = {{}};
  double open_seconds = 0.0;   ///< of compute, to begin a leaf
  double close_seconds = 0.0;  ///< and to end it
  double merge_seconds = 0.0;  ///< of compute, once an update
  double fold_seconds = 0.0;   ///< of the lane, before anything travels
  double sum_seconds = 0.0;    ///< of the lane, behind that: sums and update
  double there_seconds = 0.0;  ///< of its node's link, of gradients
  double back_seconds = 0.0;   ///< and of new weights
  double latency_seconds = 0.0;
};

struct MessageLink {
  double latency_seconds = 0.0;
  double seconds_per_byte = 0.0;
  bool is_shared = false;  ///< with all that leaves the sender's node
  double sharing = 1.0;    ///< messages that leave it for one: of workers that are not simulated
};

class ListSimulation {
 public:
  struct Setup {
    BlockCosts::Table costs;
    std::vector<ListWorker> workers;
    std::vector<std::map<NetworkId, ExchangePart>> parts;  ///< by worker, of networks that it holds
    std::vector<std::vector<MessageLink>> links;           ///< from, to
    double wake_seconds = 0.0;
  };
  explicit ListSimulation(Setup setup);

  /// One step more, of each worker's list.
  void run(const Lists& lists);
  /// What has passed since the last call, of the worker that comes last.
  [[nodiscard]] StepSimulation::Stretch take();

 private:
  using Message = std::tuple<int, int, bool, int, int, int, int, int>;
  struct Side {
    std::vector<double> ready;  ///< by bucket
    double lane_seconds = 0.0;
    double wire_seconds = 0.0;
  };
  struct Exchange {
    std::map<int, Side> sides;  ///< by worker
    std::size_t whole = 0;      ///< sides whose gradients are complete
    double last_ready = 0.0;
    double done = -1.0;  ///< everywhere; below 0: not known
  };
  struct Worker {
    std::size_t next = 0;
    double now = 0.0;
    double lane_free = 0.0;
    std::map<NetworkId, std::size_t> begun;  ///< exchanges
    std::map<NetworkId, std::size_t> awaited;
    std::optional<NetworkId> armed;  ///< whose last backward is still to come
    StepParts parts;
  };

  /// @return whether its next instruction could be performed
  bool perform(int index, const pipeline::Instruction& at);
  [[nodiscard]] const NodeCost& node_of(const pipeline::Instruction& at) const;
  [[nodiscard]] double seconds_of(const ExchangePart* part, const pipeline::Instruction& at) const;
  void compute(int index, double seconds);
  void send(int index, const pipeline::Instruction& at);
  bool receive(int index, const pipeline::Instruction& at);
  void reduce(int index, const pipeline::Instruction& at);
  bool await(int index, NetworkId network);
  void carry_out(Exchange& exchange, NetworkId network);
  Side& begun_side(int index, NetworkId network);
  Exchange& exchange_of(int index, NetworkId network, std::size_t number);
  [[nodiscard]] double& link_of(int index) {
    return link_free_[setup_.workers[static_cast<std::size_t>(index)].node];
  }
  double send_bytes(int index, double from, double seconds, double latency, Side& side);

  Setup setup_;
  std::vector<Worker> workers_;
  std::map<Message, std::pair<std::vector<double>, double>> messages_;  // arrivals, and their wire
  std::map<int, double> link_free_;                                     // by node
  std::map<int, std::vector<Exchange>> exchanges_;                      // by group
  std::map<int, std::size_t> members_;                                  // by group
  double taken_at_ = 0.0;
};

}  // namespace gangway::launch
