// SPDX-License-Identifier: MIT
// Writes a worker's list of a step piece by piece, in whatever order they come: each with what it
// receives before it and sends behind it, at last each unit's updates. An instruction that looks at
// a network's weights comes behind the wait for them, where an exchange is under way. No third
// party.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "job/spec.hpp"
#include "pipeline/instruction.hpp"
#include "pipeline/pass_share.hpp"
#include "pipeline/stages/backward_stations.hpp"
#include "pipeline/stages/piece_graph.hpp"

namespace gangway::pipeline {

class ListWriter {
 public:
  /// @param shares  of the worker; outlives this
  /// @param units   of the step; outlive this
  ListWriter(const PassShares& shares, const std::vector<StageUnit>& units, Overlap overlap);

  /// Pieces that are others' leave nothing. @pre of each unit the end comes last
  void write(const StagePiece& piece);
  [[nodiscard]] std::vector<Instruction> take() { return std::move(list_); }

 private:
  /// Of a pass over a micro-batch, how far its list has come.
  struct PassProgress {
    int forward = 0;               // nodes before this one are behind it
    std::size_t received = 0;      // of the share's receives
    std::vector<Crossing> wanted;  // gradients that are still to come, the last taker first
    std::vector<Crossing> owed;    // and to be sent, likewise
    std::vector<int> backwards;    // own nodes that are still to go back, descending
  };

  struct UnitProgress {
    const StageUnit* unit = nullptr;
    std::map<std::pair<int, int>, PassProgress> passes = {};  // by pass and micro-batch
  };

  [[nodiscard]] const PassShare& share() const {
    return shares_.of(at_.phase, at_.pass, at_.microbatch);
  }
  [[nodiscard]] PassProgress& progress() { return now_->passes.at({at_.pass, at_.microbatch}); }
  [[nodiscard]] bool has_leaf(const Home& home) const;
  /// An instruction that looks at the network's weights or writes to its gradients.
  void use(Operation operation, NetworkId network);
  void await(NetworkId network);
  /// Whether an exchange is. What the step before has left is unknown, so it is awaited at first
  /// use.
  bool& under_way(NetworkId network) {
    return under_way_.try_emplace(network, overlap_ == Overlap::kAcross).first->second;
  }
  void add(Operation operation, NetworkId network);
  /// Of the pass at hand, to or from the crossing's peer.
  void cross(Operation operation, const Crossing& crossing);
  /// What follows is of `unit`.
  void turn_to(UnitProgress& unit);
  void begin(const StageUnit& unit);
  /// Node `node` of the pass at hand, and what has to come before it.
  void write_forward(const Pass& pass, int node);
  /// What of the micro-batch at hand no piece has gone ahead with, in one leaf of each network.
  void write_leaf(const Phase& phase);
  /// Of the micro-batch at hand.
  void write_station(const Phase& phase, const BackwardStation& station);
  /// Of one that is split: what others wait for, and the rest.
  void write_inputs(const Phase& phase, const BackwardStation& station);
  void write_weights(const Phase& phase, const BackwardStation& station);
  /// Opens or closes leaves of what is trained, this worker's.
  void write_leaves(Operation operation, const std::vector<Home>& trained);
  void write_backward(const Pass& pass, int node, BackwardPart part = BackwardPart::kWhole);
  void receive_until(int node);
  /// What is made on the way to `node`, and itself, may look at statistics, which an update
  /// changes.
  void await_looked_at(const Pass& pass, int node);
  void end(UnitProgress& unit);
  /// What crosses of the pass at hand behind this worker's last backward, if it has one.
  void write_rest(const Pass& pass);
  void write_updates(const Phase& phase);

  const PassShares& shares_;
  MicrobatchRange local_;
  Overlap overlap_;
  std::vector<Instruction> list_;
  Instruction at_;                       // what the next instructions have in common
  std::map<NetworkId, bool> under_way_;  // as far as the step has come to them
  std::vector<UnitProgress> units_;
  UnitProgress* now_ = nullptr;
};

}  // namespace gangway::pipeline
