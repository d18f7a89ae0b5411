// SPDX-License-Identifier: MIT
// The part of a layout that is simulated for all of it: one row of stages where rows are alike,
// some micro-batches where there are many. Pure.
#pragma once

#include <map>
#include <vector>

#include "launch/plan/predict.hpp"
#include "launch/plan/stages/list_simulation.hpp"

namespace gangway::launch {

class ShownLayout {
 public:
  /// @param microbatches  of the shown workers together
  ShownLayout(const PlanInput& input, const BlockCosts& costs, const PlannedLayout& layout,
              int microbatches);

  /// Whether one row is shown, since all networks are cut alike.
  [[nodiscard]] static bool is_row(const PlannedLayout& layout);
  /// Micro-batches of a row, or of all.
  [[nodiscard]] static int microbatches_of(const PlannedLayout& layout, int microbatches);

  [[nodiscard]] const StagedJob& staged() const { return staged_; }
  [[nodiscard]] const std::vector<WorkerPlace>& all_places() const { return places_; }
  /// Of shown worker `worker`.
  [[nodiscard]] const WorkerPlace& place(int worker) const;
  [[nodiscard]] ListSimulation::Setup setup(BlockCosts::Table table) const;
  [[nodiscard]] std::int64_t arenas_bytes(int worker) const;
  [[nodiscard]] std::int64_t snapshots_bytes(int worker) const;
  /// Of gradients and weights, by all workers in a step, between nodes.
  [[nodiscard]] double exchanged_bytes() const;
  /// Of what the shown workers' lists of a step send to workers on other nodes, by all workers.
  [[nodiscard]] double sent_bytes(const Lists& lists, const BlockCosts::Table& table) const;

 private:
  /// The workers that hold a network's chunk together with a shown one.
  struct Members {
    double share = 1.0;  ///< of the network's weights
    int workers = 1;
    int on_node = 1;        ///< of them, beside the shown one and itself
    int shown_on_node = 1;  ///< of those, shown ones
    int nodes = 1;
    int node_sums = 1;              ///< whole subtrees of those on its node
    int all_sums = 1;               ///< and of each node, added up
    double seconds_per_byte = 0.0;  ///< of the slowest link between them
    double latency_seconds = 0.0;
    MicrobatchRange range;  ///< of the shown one
  };
  [[nodiscard]] Members members_of(NetworkId network, int worker) const;
  void set_nodes(const std::vector<int>& workers, Members& members, int worker) const;
  [[nodiscard]] ExchangePart part_of(NetworkId network, int worker) const;
  [[nodiscard]] int real_worker(int worker) const { return is_row_ ? worker * copies_ : worker; }
  [[nodiscard]] MessageLink link_between(int from, int to) const;
  [[nodiscard]] int on_node(int node) const { return workers_on_.at(node); }

  PlanInput input_;
  const BlockCosts& costs_;
  PlannedLayout layout_;
  bool is_row_;
  int copies_;  ///< rows
  StagedJob staged_;
  std::vector<WorkerPlace> places_;
  std::map<int, int> workers_on_;  ///< by node
};

}  // namespace gangway::launch
