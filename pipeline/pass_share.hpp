// SPDX-License-Identifier: MIT
// Computes one worker's share of a pass over one micro-batch where networks are apart: each node is
// carried out where its network is, or beside what takes it; tensors that others take are sent, and
// their gradients come back. No third party.
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

/// A network, or of one that is cut a chunk.
struct Home {
  NetworkId network{};
  int chunk = 0;
  bool operator==(const Home&) const = default;
};

/// By node, beside what it is carried out; nothing: wherever it is taken.
[[nodiscard]] std::vector<std::optional<Home>> homes_of(const Pass& pass);

/// By node, the worker that carries it out for `microbatch`; nothing: each worker that needs it.
[[nodiscard]] std::vector<std::optional<int>> owners_of(const Pass& pass, const Layout& layout,
                                                        int microbatch);
[[nodiscard]] inline const Node& node_of(const Pass& pass, int node) {
  return pass.nodes[static_cast<std::size_t>(node)];
}
/// Nodes that take something of what `maker` makes, ascending.
[[nodiscard]] std::vector<int> takers_of(const Pass& pass, int maker);
/// Whether backward has an instruction for it.
[[nodiscard]] bool goes_back(const Pass& pass, int node);
/// The first node that is a penalty on a network that is whole; as many as there are nodes, if none
/// is.
[[nodiscard]] int first_penalty(const Pass& pass);
/// Takers that give `maker` a gradient, in the order in which backward comes to them.
[[nodiscard]] std::vector<int> gradient_takers(const Pass& pass, int maker);

/// The shares of one worker in all passes of a job. Immutable; any thread.
class PassShares {
 public:
  /// Borrows `phases`, which are completed.
  /// @throws ConfigError where a recipe cannot be carried out so with the bits of one worker
  PassShares(const std::vector<Phase>& phases, Layout layout, int worker);

  [[nodiscard]] const PassShare& of(int phase, int pass, int microbatch) const {
    return shares_.at({phase, pass, microbatch});
  }
  [[nodiscard]] const std::vector<Phase>& phases() const { return phases_; }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] int worker() const { return worker_; }
  /// All micro-batches of this worker.
  [[nodiscard]] MicrobatchRange local() const { return layout_.range_of(worker_); }
  /// Whether some worker does without some network, or a part of one.
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
