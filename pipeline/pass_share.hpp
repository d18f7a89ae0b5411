// SPDX-License-Identifier: MIT
// Computes one worker's share of a pass over one micro-batch if networks are apart. A node runs on
// the worker of its network, or on a taker's worker. Workers send tensors that other workers take;
// the tensors' gradients come back. No third party.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "job/layout/layout.hpp"
#include "pipeline/phases.hpp"

namespace gangway::pipeline {

/// The tensors of one node that one worker makes and another worker takes.
struct Crossing {
  int node = 0;               ///< index of the node that makes them
  int peer = 0;               ///< the other worker
  std::vector<int> outputs;   ///< indices of the node's outputs that are taken, ascending
  bool has_gradient = false;  ///< whether their gradient comes back
  int last_consumer = 0;      ///< lowest taker with a gradient; its backward completes the sum
  bool operator==(const Crossing&) const = default;
};

struct PassShare {
  std::vector<bool> mine;  ///< by node; every worker that takes draws or real examples makes them
  std::vector<Crossing> sends;     ///< by node, then peer
  std::vector<Crossing> receives;  ///< by node
  bool takes_part = false;

  [[nodiscard]] bool crosses() const { return !sends.empty() || !receives.empty(); }
  /// Number of instructions for this pass over this micro-batch.
  [[nodiscard]] int num_instructions(const Pass& pass) const;
};

/// The place of a node: a network, or one chunk of a network that is cut.
struct ChunkId {
  NetworkId network{};
  ChunkIndex chunk{};
  bool operator==(const ChunkId&) const = default;
};

/// By node, the place where it runs; none: on every worker that takes it.
[[nodiscard]] std::vector<std::optional<ChunkId>> chunk_ids_of(const Pass& pass);

/// By node, the worker that runs it for `microbatch`; none: each worker that needs it.
[[nodiscard]] std::vector<std::optional<int>> owners_of(const Pass& pass, const Layout& layout,
                                                        int microbatch);
[[nodiscard]] inline const Node& node_of(const Pass& pass, int node) {
  return pass.nodes[static_cast<std::size_t>(node)];
}
/// Nodes that take an output of `maker`, ascending.
[[nodiscard]] std::vector<int> consumers_of(const Pass& pass, int maker);
/// Whether the node has a backward instruction.
[[nodiscard]] bool goes_back(const Pass& pass, int node);
/// Index of the first penalty on a whole network; the number of nodes if there is none.
[[nodiscard]] int first_penalty(const Pass& pass);
/// Takers that give `maker` a gradient, in the order of their backwards.
[[nodiscard]] std::vector<int> gradient_consumers(const Pass& pass, int maker);

/// The shares of one worker in all passes of a job. Immutable; any thread.
class PassShares {
 public:
  /// Borrows `phases`. @pre they are completed
  /// @throws ConfigError if this layout cannot run a recipe with the bits of one worker
  PassShares(const std::vector<Phase>& phases, Layout layout, int worker);

  [[nodiscard]] const PassShare& of(int phase, int pass, int microbatch) const {
    return shares_.at({phase, pass, microbatch});
  }
  [[nodiscard]] const std::vector<Phase>& phases() const { return phases_; }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] int worker() const { return worker_; }
  /// All micro-batches of this worker.
  [[nodiscard]] MicrobatchRange local() const { return layout_.range_of(worker_); }
  /// Whether some worker lacks a network or a part of it.
  [[nodiscard]] bool are_apart() const { return layout_.is_apart(); }
  /// Sender and receiver of all tensors and gradients that this worker sends or receives.
  [[nodiscard]] std::set<std::pair<int, int>> edges() const;
  /// Workers with which this one exchanges tensors, ascending. The relation is symmetric.
  [[nodiscard]] std::vector<int> peers() const;
  /// Whether some network is cut.
  [[nodiscard]] bool are_cut() const { return layout_.is_cut(); }

 private:
  const std::vector<Phase>& phases_;
  Layout layout_;
  int worker_;
  std::map<std::tuple<int, int, int>, PassShare> shares_;  // by phase, pass and micro-batch
};

}  // namespace gangway::pipeline
