// SPDX-License-Identifier: MIT
// Writes a worker's list of a step from pieces in any order. It adds the receives before a piece,
// the sends after it, and each unit's updates at its end. An instruction that reads a network's
// weights comes after the wait for them while an exchange is under way. No third party.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "job/spec.hpp"
#include "pipeline/instruction.hpp"
#include "pipeline/pass_share.hpp"
#include "pipeline/stages/backward_segments.hpp"
#include "pipeline/stages/piece_graph.hpp"

namespace gangway::pipeline {

class ListWriter {
 public:
  /// @param shares  of the worker; outlives this object
  /// @param units   of the step; outlive this object
  ListWriter(const PassShares& shares, const std::vector<StageUnit>& units, Overlap overlap);

  /// Writes nothing for other workers' pieces. @pre a unit's kEnd is its last piece
  void write(const StagePiece& piece);
  [[nodiscard]] std::vector<Instruction> take() { return std::move(list_); }

 private:
  /// The progress of the list in one pass over one micro-batch.
  struct PassProgress {
    int forward = 0;               // nodes before this one are written
    std::size_t received = 0;      // number of the share's receives written
    std::vector<Crossing> wanted;  // gradients to receive, the last taker first
    std::vector<Crossing> owed;    // gradients to send, the last taker first
    std::vector<int> backwards;    // own nodes without backward yet, descending
  };

  struct UnitProgress {
    const StageUnit* unit = nullptr;
    std::map<std::pair<int, int>, PassProgress> passes = {};  // by pass and micro-batch
  };

  [[nodiscard]] const PassShare& share() const {
    return shares_.of(at_.phase, at_.pass, at_.microbatch);
  }
  [[nodiscard]] PassProgress& progress() { return now_->passes.at({at_.pass, at_.microbatch}); }
  [[nodiscard]] bool has_leaf(const ChunkId& chunk_id) const;
  /// Adds an instruction that reads the network's weights or writes its gradients.
  void use(Operation operation, NetworkId network);
  void await(NetworkId network);
  /// Whether an exchange of the network is under way. With kAcross it begins as true, because the
  /// step before may have left one.
  bool& under_way(NetworkId network) {
    return under_way_.try_emplace(network, overlap_ == Overlap::kAcross).first->second;
  }
  void add(Operation operation, NetworkId network);
  /// Adds a send or receive of the current pass, with the crossing's peer.
  void cross(Operation operation, const Crossing& crossing);
  /// Makes `unit` the current unit.
  void turn_to(UnitProgress& unit);
  void begin(const StageUnit& unit);
  /// Writes node `node` of the current pass, and the receives and waits that it needs.
  void write_forward(const Pass& pass, int node);
  /// Writes the current micro-batch's remaining nodes, in one leaf of each network.
  void write_leaf(const Phase& phase);
  /// Writes a segment for the current micro-batch.
  void write_segment(const Phase& phase, const BackwardSegment& segment);
  /// Write a split segment: the input gradients that other workers wait for, then the rest.
  void write_inputs(const Phase& phase, const BackwardSegment& segment);
  void write_weights(const Phase& phase, const BackwardSegment& segment);
  /// Opens or closes this worker's leaves of the `trained` chunks.
  void write_leaves(Operation operation, const std::vector<ChunkId>& trained);
  void write_backward(const Pass& pass, int node, BackwardPart part = BackwardPart::kWhole);
  void receive_until(int node);
  /// Awaits every network whose statistics a node up to `node` reads, because an update changes
  /// statistics.
  void await_looked_at(const Pass& pass, int node);
  void end(UnitProgress& unit);
  /// Writes the current pass's sends and receives that are left after its last backward.
  void write_rest(const Pass& pass);
  void write_updates(const Phase& phase);

  const PassShares& shares_;
  MicrobatchRange local_;
  Overlap overlap_;
  std::vector<Instruction> list_;
  Instruction at_;                       // common fields of the next instructions
  std::map<NetworkId, bool> under_way_;  // up to the current point of the step
  std::vector<UnitProgress> units_;
  UnitProgress* now_ = nullptr;
};

}  // namespace gangway::pipeline
