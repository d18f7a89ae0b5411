// SPDX-License-Identifier: MIT
// Simulates workers that run their lists of instructions, step after step; costs replace the work.
// Simulates compute threads, stage messages, links, and lanes (communicating threads) that exchange
// gradients. One simulated worker may stand for several identical ones. Pure.
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

/// Splits the step seconds of the slowest worker by cause. The parts add up to the step.
struct StepParts {
  double compute = 0.0;    ///< of its own micro-batches
  double beside = 0.0;     ///< compute lost to other workers and lanes of the host
  double imbalance = 0.0;  ///< waits for workers that are slower or have more to do
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

/// The device of a simulated worker.
struct SimulatedDevice {
  double speed = 1.0;           ///< relative to the profiled device
  double slowdown = 1.0;        ///< factor of compute time because of other workers
  double lane_steal = 0.0;      ///< share of lane work that compute loses while both run
  double launch_seconds = 0.0;  ///< minimum seconds of a kernel
  /// Returns the seconds of work without other workers: by speed, at least its launches.
  [[nodiscard]] double alone(double profiled_seconds, double kernels) const {
    return std::max(profiled_seconds / speed, kernels * launch_seconds);
  }
  auto operator<=>(const SimulatedDevice&) const = default;
};

/// Seconds of one bucket in an exchange.
struct BucketCost {
  double ready_share = 1.0;  ///< share of the last backward after which it is complete
  double fold = 0.0;         ///< lane: adds local partial sums before it sends
  double there = 0.0;        ///< link: sends gradients
  double sum = 0.0;          ///< lane: adds received gradients, then updates
  double back = 0.0;         ///< link: sends new weights
};

/// The costs of one worker in the exchanges of one network.
struct ExchangePart {
  int group = 0;  ///< workers with the same number exchange together
  std::vector<BucketCost> buckets;
  double open_seconds = 0.0;   ///< compute time to begin a leaf
  double close_seconds = 0.0;  ///< compute time to end a leaf, early merges included
  double latency_seconds = 0.0;
};

struct SimulatedWorker {
  SimulatedDevice device;
  std::size_t list = 0;  ///< index of the list that it runs
  int link = 0;          ///< outgoing link; workers with the same number take turns
  /// Real micro-batches that micro-batch 1 of its list stands for: those between the first and the
  /// last are alike.
  double middle_microbatches = 1.0;
  std::map<NetworkId, ExchangePart> parts;  ///< of the trained networks that it holds
};

struct MessageLink {
  double latency_seconds = 0.0;
  double seconds_per_byte = 0.0;
  bool is_shared = false;  ///< whether messages queue on the sender's link
  double sharing = 1.0;    ///< real messages on the link for each simulated one
};

struct SimulationSetup {
  BlockCosts::Table costs;
  std::vector<SimulatedWorker> workers;
  std::vector<std::vector<MessageLink>> links;  ///< [sender][receiver]; empty without messages
  double wake_seconds = 0.0;
};

class Simulation {
 public:
  explicit Simulation(SimulationSetup setup);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// Runs a step: each worker its list. @throws InvariantError if workers wait for one another
  void run(const Lists& lists);

  struct Stretch {
    double seconds = 0.0;
    StepParts parts;
  };
  /// Returns the time and parts of the slowest worker since the last call.
  [[nodiscard]] Stretch take();

 private:
  using Message = std::tuple<std::size_t, int, bool, int, int, int, int, int>;
  /// The state of one member of an exchange.
  struct Side {
    std::vector<double> ready;  ///< by bucket
    double lane_seconds = 0.0;
    double wire_seconds = 0.0;
  };
  struct Exchange {
    std::vector<Side> sides;  ///< by member
    std::size_t whole = 0;    ///< members with complete gradients
    double last_ready = 0.0;
    double done = -1.0;  ///< when all members have it; below 0: unknown
  };
  struct Group {
    std::vector<std::size_t> members;        ///< worker numbers
    std::vector<const ExchangePart*> parts;  ///< by member
    std::vector<Exchange> exchanges;         ///< oldest first
  };
  /// A network that a worker holds.
  struct HeldNetwork {
    const ExchangePart* part = nullptr;
    Group* group = nullptr;
    std::size_t member = 0;
    std::size_t begun = 0;  ///< exchanges begun
    std::size_t awaited = 0;
    bool is_armed = false;  ///< whether the next backward completes the gradients
  };
  struct Worker {
    std::size_t next = 0;
    double now = 0.0;
    double lane_free = 0.0;
    bool waits = false;  ///< for a message or an exchange
    std::map<NetworkId, HeldNetwork> held;
    StepParts parts;
  };

  /// @return whether the worker could perform the instruction
  bool perform(std::size_t index, const pipeline::Instruction& at);
  void work(std::size_t index, const pipeline::Instruction& at, HeldNetwork* held);
  void compute(std::size_t index, double alone);
  void send(std::size_t index, const pipeline::Instruction& at);
  bool receive(std::size_t index, const pipeline::Instruction& at);
  void reduce(std::size_t index, HeldNetwork& held);
  bool await(std::size_t index, HeldNetwork& held);
  void wait_for(std::size_t index, const Exchange& exchange, const Side& side);
  void carry_out(Group& group, Exchange& exchange);
  /// Occupies the worker's link for `seconds`. @return when the bucket has arrived
  double send_bucket(std::size_t index, double seconds, double latency, Side& side);
  void wake(std::size_t index);
  [[nodiscard]] static Exchange& begun_exchange(HeldNetwork& held);

  SimulationSetup setup_;
  std::vector<Worker> workers_;
  std::set<std::pair<double, std::size_t>> ready_;  // runnable workers, by their time
  std::map<Message, std::pair<std::vector<double>, double>> messages_;  // arrivals, wire seconds
  std::map<int, double> link_free_;
  std::map<int, Group> groups_;
  double taken_at_ = 0.0;
};

/// Returns the mean step. A lazy phase adds its extra seconds divided by its interval.
[[nodiscard]] Simulation::Stretch mean_step(SimulationSetup setup, const StepLists& lists);

}  // namespace gangway::plan
