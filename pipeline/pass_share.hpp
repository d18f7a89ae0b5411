// SPDX-License-Identifier: MIT
// What one worker does of a pass over one micro-batch where networks are apart: each node is
// carried out where its network is, or beside what takes it, and tensors that are taken elsewhere
// travel, as do their gradients back. No layout but this, no third party.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "job/network_groups.hpp"
#include "pipeline/phases.hpp"

namespace gangway::pipeline {

/// A node's tensors that one worker makes and another takes.
struct Crossing {
  int node = 0;               ///< that makes them
  int peer = 0;               ///< the other worker
  std::vector<int> outputs;   ///< of the node's, ascending: those that are taken
  bool has_gradient = false;  ///< whether their gradient comes back
  int last_taker = 0;         ///< the lowest node that gives one: with its backward it is whole
  bool operator==(const Crossing&) const = default;
};

struct PassShare {
  std::vector<bool> mine;  ///< by node; draws and real examples are made wherever they are taken
  std::vector<Crossing> sends;     ///< by node, then peer
  std::vector<Crossing> receives;  ///< by node
  bool takes_part = false;

  [[nodiscard]] bool crosses() const { return !sends.empty() || !receives.empty(); }
  /// Of this pass over this micro-batch, in a schedule.
  [[nodiscard]] int num_instructions(const Pass& pass) const;
};

/// By node, the network beside which it is carried out; nothing: wherever it is taken.
[[nodiscard]] std::vector<std::optional<NetworkId>> homes_of(const Pass& pass);

/// The shares of one worker in all passes of a job. Immutable; any thread.
class PassShares {
 public:
  /// Borrows `phases`, which are completed.
  /// @throws ConfigError where a recipe cannot be carried out so with the bits of one worker
  PassShares(const std::vector<Phase>& phases, PerNetwork<NetworkGroup> groups, int worker);

  [[nodiscard]] const PassShare& of(int phase, int pass, int microbatch) const {
    return shares_.at({phase, pass, microbatch});
  }
  [[nodiscard]] const std::vector<Phase>& phases() const { return phases_; }
  [[nodiscard]] const PerNetwork<NetworkGroup>& groups() const { return groups_; }
  [[nodiscard]] int worker() const { return worker_; }
  /// Whether some worker does without some network.
  [[nodiscard]] bool are_apart() const { return gangway::are_apart(groups_); }

 private:
  const std::vector<Phase>& phases_;
  PerNetwork<NetworkGroup> groups_;
  int worker_;
  std::map<std::tuple<int, int, int>, PassShare> shares_;  // by phase, pass and micro-batch
};

}  // namespace gangway::pipeline
