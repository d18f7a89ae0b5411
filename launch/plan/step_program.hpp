// SPDX-License-Identifier: MIT
// What one worker does in a step, as times: stretches of compute, exchanges that begin when buckets
// are ready, and waits. Made of the very schedule that the worker would run. Pure.
#pragma once

#include <vector>

#include "launch/plan/profiles/profile.hpp"
#include "pipeline/phases.hpp"

namespace gangway::launch {

struct ProgramPart {
  enum class Kind {
    kCompute,   ///< for `seconds`
    kBuckets,   ///< for `seconds`, in which buckets of the network become ready
    kExchange,  ///< what has not become ready is; the network's exchange is whole
    kAwait,     ///< for the network's new weights
  };
  Kind kind = Kind::kCompute;
  NetworkId network{};
  double seconds = 0.0;  ///< of the profiled device
  /// kBuckets: by bucket, seconds from the part's begin.
  std::vector<double> ready_after = {};
};

/// Whose program: a worker that holds all networks.
struct ProgramOptions {
  int early_merges = 0;  ///< of PartialSums
  int local_microbatches = 1;
  Overlap overlap = Overlap::kAcross;
  bool recompute = false;  ///< layout.recompute
  int lazy = -1;  ///< index of the phase that is in this step though not in every one; -1: none
};

/// Costs of a job's instructions, ready to be looked up many times.
class StepCosts {
 public:
  StepCosts(const Profile& profile, const std::vector<pipeline::Phase>& phases, const JobSpec& job);

  [[nodiscard]] std::vector<ProgramPart> program(const ProgramOptions& options) const;
  [[nodiscard]] const std::vector<pipeline::Phase>& phases() const { return phases_; }
  /// Phases that are not in every step.
  [[nodiscard]] std::vector<int> lazy_phases() const;
  [[nodiscard]] int interval_of(int phase) const {
    return phases_[static_cast<std::size_t>(phase)].interval;
  }
  /// Seconds of one micro-batch through all phases of a step, lazy ones by their share.
  [[nodiscard]] double microbatch_seconds() const { return microbatch_seconds_; }
  /// Whether an update waits for a norm.
  [[nodiscard]] bool agrees() const;
  /// How often `network` is updated in a step, lazy phases by their share.
  [[nodiscard]] double updates_in_step(NetworkId network) const;

 private:
  [[nodiscard]] double seconds_of(const pipeline::Instruction& at) const;
  /// Of the forward that the backward `at` would begin with, if it were made again.
  [[nodiscard]] double again_seconds(const pipeline::Instruction& at) const;
  [[nodiscard]] std::vector<double> ready_after(NetworkId network, double seconds) const;

  const Profile& profile_;
  std::vector<pipeline::Phase> phases_;
  PerNetwork<std::string> names_;
  std::vector<std::pair<pipeline::Instruction, double>> seconds_;  // by kind, ascending
  PerNetwork<std::vector<double>> ready_share_;  // by bucket, of the last backward
  double microbatch_seconds_ = 0.0;
};

}  // namespace gangway::launch
