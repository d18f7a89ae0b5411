// SPDX-License-Identifier: MIT
// Selects the part of a layout that is simulated for all of it: one row of stages if rows are
// alike, and some micro-batches if there are many. Pure.
#pragma once

#include <map>
#include <vector>

#include "plan/exchange.hpp"

namespace gangway::plan {

class ShownLayout {
 public:
  /// @param microbatches  of the shown workers together
  ShownLayout(const PlanInput& input, const Candidate& candidate, int microbatches);

  /// Whether one row is simulated for all, because all networks are cut.
  [[nodiscard]] static bool is_row(const Candidate& candidate);
  /// Returns the micro-batches of one row if is_row(), otherwise all.
  [[nodiscard]] static int microbatches_of(const Candidate& candidate, int microbatches);

  [[nodiscard]] const StagedJob& staged() const { return staged_; }
  [[nodiscard]] const std::vector<WorkerPlace>& all_places() const { return places_; }
  /// Returns the place of shown worker `worker`.
  [[nodiscard]] const WorkerPlace& place(int worker) const;
  [[nodiscard]] SimulationSetup setup(BlockCosts::Table table) const;
  [[nodiscard]] std::int64_t arenas_bytes(int worker) const;
  [[nodiscard]] std::int64_t snapshots_bytes(int worker) const;
  /// Returns the bytes of gradients and weights that all workers send between nodes in a step.
  [[nodiscard]] double exchanged_bytes() const;
  /// Returns the bytes that `lists` send between nodes in a step, scaled to all workers.
  [[nodiscard]] double sent_bytes(const Lists& lists, const BlockCosts::Table& table) const;

 private:
  /// The workers that hold a network, or a chunk of one.
  struct Holders {
    BlockRange blocks;
    double share = 1.0;  ///< of the network's weights
    ExchangeGroup group;
  };
  void add_holders(NetworkId network, ChunkIndex chunk);
  /// Returns the holders of `network` or of its chunk on shown worker `worker`; null: none there.
  [[nodiscard]] const Holders* holders_of(NetworkId network, int worker) const;
  [[nodiscard]] ExchangeMember member_of(const Holders& holders, int worker) const;
  [[nodiscard]] ExchangePart part_of(NetworkId network, int worker) const;
  [[nodiscard]] int real_worker(int worker) const { return is_row_ ? worker * copies_ : worker; }
  [[nodiscard]] MessageLink link_between(int from, int to) const;
  [[nodiscard]] SimulatedDevice device_of(int worker) const;

  PlanInput input_;
  bool is_row_;
  int copies_;  ///< number of rows
  StagedJob staged_;
  std::vector<WorkerPlace> places_;
  std::map<int, int> workers_on_;             ///< by node
  PerNetwork<std::vector<Holders>> holders_;  ///< by chunk
};

}  // namespace gangway::plan
