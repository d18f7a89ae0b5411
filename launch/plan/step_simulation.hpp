// SPDX-License-Identifier: MIT
// Simulated workers that run their programs step after step: compute threads, communicating threads
// (lanes) and links, each doing one thing after the other. Pure.
#pragma once

#include <compare>
#include <cstddef>
#include <vector>

#include "launch/plan/profiles/profile.hpp"
#include "launch/plan/step_program.hpp"

namespace gangway::launch {

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

/// Workers that do the same at the same time.
struct WorkerClass {
  double speed = 1.0;       ///< of its device, of the profiled one
  double slowdown = 1.0;    ///< of its compute, by the workers beside it
  double lane_steal = 0.0;  ///< share of its lane's work that compute loses where both work
  int local_microbatches = 1;
  int early_merges = 0;  ///< as PartialSums
  int last_merges = 0;
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
  auto operator<=>(const WorkerClass&) const = default;
};

/// An exchange as a worker finds it that awaits the new weights; times in seconds.
struct AwaitedExchange {
  double first_ready = 0.0;   ///< when its first bucket was complete
  double last_ready = 0.0;    ///< and its last one
  double last_of_all = 0.0;   ///< of whoever was last
  double done = 0.0;          ///< when the new weights are there
  double lane_seconds = 0.0;  ///< that its lane works
  double wire_seconds = 0.0;
  double lane_steal = 0.0;  ///< as WorkerClass
};
/// Moves `now` to where the worker goes on, and says in `parts` where the time went.
void wait_for(const AwaitedExchange& exchange, double& now, StepParts& parts);

class StepSimulation {
 public:
  struct Setup {
    const Profile* profile = nullptr;
    std::vector<NetworkId> networks = {};
    std::vector<double> wire_bytes = {};  ///< by network, of an element between hosts
    std::vector<WorkerClass> classes = {};
    int workers = 1;
  };
  explicit StepSimulation(Setup setup);

  /// One step more. @param programs  by class
  void run(const std::vector<std::vector<ProgramPart>>& programs);

  struct Stretch {
    double seconds = 0.0;
    StepParts parts;
  };
  /// What has passed since the last call.
  [[nodiscard]] Stretch take();

 private:
  /// One class's part of an exchange.
  struct Side {
    std::vector<double> ready;  ///< by bucket
    bool is_whole = false;      ///< no bucket becomes ready any more
    double wire_seconds = 0.0;
    double lane_seconds = 0.0;
    double done = 0.0;  ///< its host has the new weights
  };
  struct Exchange {
    std::vector<Side> sides;  ///< by class
    std::size_t whole = 0;    ///< sides that are
    double last_ready = 0.0;
    bool is_over = false;
  };
  struct Worker {
    std::size_t next = 0;
    double now = 0.0;
    double lane_free = 0.0;
    double link_free = 0.0;
    std::vector<std::size_t> begun;    ///< by network: exchanges
    std::vector<std::size_t> awaited;  ///< by network
    StepParts parts;
  };

  /// @return whether the class came to its program's end, or at least further
  bool advance(std::size_t index, const std::vector<ProgramPart>& program);
  [[nodiscard]] bool await(std::size_t index, NetworkId network);
  Side& begun_side(std::size_t index, NetworkId network);
  void make_whole(std::size_t index, NetworkId network);
  void carry_out(Exchange& exchange, NetworkId network);
  double send(std::size_t index, Side& side, double from, double bytes);
  void compute(std::size_t index, double seconds);
  /// Of a worker's lane for one byte of an arena that is added to another.
  [[nodiscard]] double seconds_to_add(const WorkerClass& of) const;

  Setup setup_;
  std::vector<Worker> workers_;                   // by class
  std::vector<std::vector<Exchange>> exchanges_;  // by network, in their order
  double taken_at_ = 0.0;
};

}  // namespace gangway::launch
