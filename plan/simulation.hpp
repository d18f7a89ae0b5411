// SPDX-License-Identifier: MIT
// Workers that run their lists of instructions step after step, with costs in the place of work:
// compute threads, messages between them, exchanges of what several hold (communicating threads,
// called lanes), and links. Workers that are alike may be simulated once. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "plan/node_costs.hpp"
#include "plan/staged_job.hpp"

namespace gangway::plan {

/// Seconds of a step of the worker that comes last, by what they go to. They add up to the step.
struct StepParts {
  double compute = 0.0;    ///< its own micro-batches
  double beside = 0.0;     ///< what compute loses to workers and lanes of the same host
  double imbalance = 0.0;  ///< waits for workers that have more to do, or are slower
  double sums = 0.0;       ///< waits for sums and updates
  double wire = 0.0;       ///< waits for links
  double bubble = 0.0;     ///< waits for other stages and networks
  [[nodiscard]] double total() const { return compute + beside + imbalance + sums + wire + bubble; }
};

struct StepPart {
  const char* name;
  double StepParts::*seconds;
};
inline constexpr std::array kStepParts{
    StepPart{"compute", &StepParts::compute},
    StepPart{"workers and lanes of one host", &StepParts::beside},
    StepPart{"waits for slower workers", &StepParts::imbalance},
    StepPart{"waits for sums and updates", &StepParts::sums},
    StepPart{"waits for the wire", &StepParts::wire},
    StepPart{"bubble", &StepParts::bubble}};

/// What computes.
struct SimulatedDevice {
  double speed = 1.0;           ///< of the profiled one
  double slowdown = 1.0;        ///< of its compute, by the workers beside it
  double lane_steal = 0.0;      ///< share of its lane's work that compute loses where both work
  double launch_seconds = 0.0;  ///< what no kernel is shorter than
  /// Of work without others: by its speed, and no shorter than its kernels.
  [[nodiscard]] double alone(double profiled_seconds, double kernels) const {
    return std::max(profiled_seconds / speed, kernels * launch_seconds);
  }
  auto operator<=>(const SimulatedDevice&) const = default;
};

/// Of one bucket in an exchange; seconds.
struct BucketCost {
  double ready_share = 1.0;  ///< of the last backward, behind which it is complete
  double fold = 0.0;         ///< of the lane, before anything travels
  double there = 0.0;        ///< of the link, of gradients
  double sum = 0.0;          ///< of the lane, behind that: sums and update
  double back = 0.0;         ///< of the link, of new weights
};

/// A worker's part of a network's exchanges.
struct ExchangePart {
  int group = 0;  ///< exchanges of one group go together, whatever its members
  std::vector<BucketCost> buckets;
  double open_seconds = 0.0;   ///< of compute, to begin a leaf
  double close_seconds = 0.0;  ///< and to end it, with its share of what is added up between leaves
  double latency_seconds = 0.0;
};

struct SimulatedWorker {
  SimulatedDevice device;
  std::size_t list = 0;  ///< that it runs
  int link = 0;          ///< that it sends by; those that have the same take turns
  /// As many as micro-batch 1 of its list stands for, where those between the first and the last
  /// are alike.
  double middle_microbatches = 1.0;
  std::map<NetworkId, ExchangePart> parts;  ///< of networks that it holds and that are trained
};

struct MessageLink {
  double latency_seconds = 0.0;
  double seconds_per_byte = 0.0;
  bool is_shared = false;  ///< with all that leaves by the sender's link
  double sharing = 1.0;    ///< messages that leave by it for one: of workers that are not simulated
};

class Simulation {
 public:
  struct Setup {
    BlockCosts::Table costs;
    std::vector<SimulatedWorker> workers;
    std::vector<std::vector<MessageLink>> links;  ///< from, to; empty without messages
    double wake_seconds = 0.0;
  };
  explicit Simulation(Setup setup);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// One step more, of each worker's list.
  void run(const Lists& lists);

  struct Stretch {
    double seconds = 0.0;
    StepParts parts;
  };
  /// What has passed since the last call, of the worker that comes last.
  [[nodiscard]] Stretch take();

 private:
  using Message = std::tuple<std::size_t, int, bool, int, int, int, int, int>;
  /// One worker's part of an exchange.
  struct Side {
    std::vector<double> ready;  ///< by bucket
    double lane_seconds = 0.0;
    double wire_seconds = 0.0;
  };
  struct Exchange {
    std::vector<Side> sides;  ///< by member
    std::size_t whole = 0;    ///< sides whose gradients are complete
    double last_ready = 0.0;
    double done = -1.0;  ///< everywhere; below 0: not known
  };
  struct Group {
    std::vector<std::size_t> members;        ///< workers
    std::vector<const ExchangePart*> parts;  ///< theirs
    std::vector<Exchange> exchanges;         ///< in their order
  };
  /// A network of a worker.
  struct Held {
    const ExchangePart* part = nullptr;
    Group* group = nullptr;
    std::size_t member = 0;
    std::size_t begun = 0;  ///< exchanges
    std::size_t awaited = 0;
    bool is_armed = false;  ///< its last backward is still to come
  };
  struct Worker {
    std::size_t next = 0;
    double now = 0.0;
    double lane_free = 0.0;
    bool waits = false;  ///< for a message or an exchange
    std::map<NetworkId, Held> held;
    StepParts parts;
  };

  /// @return whether the worker's next instruction could be performed
  bool perform(std::size_t index, const pipeline::Instruction& at);
  void work(std::size_t index, const pipeline::Instruction& at, Held* held);
  void compute(std::size_t index, double alone);
  void send(std::size_t index, const pipeline::Instruction& at);
  bool receive(std::size_t index, const pipeline::Instruction& at);
  void reduce(std::size_t index, Held& held);
  bool await(std::size_t index, Held& held);
  void wait_for(std::size_t index, const Exchange& exchange, const Side& side);
  void carry_out(Group& group, Exchange& exchange);
  /// @return when `seconds` of the worker's link are over everywhere
  double send_bucket(std::size_t index, double seconds, double latency, Side& side);
  void wake(std::size_t index);
  [[nodiscard]] static Exchange& begun_exchange(Held& held);
  [[nodiscard]] const NodeCost& node_of(const pipeline::Instruction& at) const;

  Setup setup_;
  std::vector<Worker> workers_;
  std::set<std::pair<double, std::size_t>> ready_;  // workers that go on, by their time
  std::map<Message, std::pair<std::vector<double>, double>> messages_;  // arrivals, and their wire
  std::map<int, double> link_free_;
  std::map<int, Group> groups_;
  double taken_at_ = 0.0;
};

/// A step in the mean of many: those of phases that are not in every one by their share.
[[nodiscard]] Simulation::Stretch mean_step(Simulation::Setup setup, const StepLists& lists);

}  // namespace gangway::plan
