// SPDX-License-Identifier: MIT
// Lists the trained state that a worker owns as named pieces of tensors: its slices of every arena.
// All workers' pieces are the whole state, each element once. Names in checkpoints:
//
//   generator/<block>/<tensor>, generator_ema/…, generator_optimizer/<moment>/<block>/<tensor> for
//   each moment of the optimiser (job/optimizers.hpp), generator_optimizer/updates (int64 [1]), and
//   of a network with a loss scale skipped_updates, skipped_in_a_row, loss_scale_exponent and
//   updates_at_loss_scale beside it; the same for discriminator, which has no average.
//   image_pools/… (worker/state/image_pools.hpp).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "checkpoint/format/stored_tensor.hpp"
#include "checkpoint/snapshots/snapshot_memory.hpp"
#include "worker/state/network_state.hpp"

namespace gangway::worker {

/// One arena of a network under its name in checkpoints.
struct NamedArena {
  std::string prefix;  ///< "generator_optimizer/first_moment"
  comm::Arena* arena = nullptr;
  bool holds_statistics = false;

  /// "generator/0/weight" under prefix "generator_ema" → "generator_ema/0/weight".
  [[nodiscard]] std::string stored_name(const NetworkState::TensorPlace& place) const;
};
/// Returns the network's arenas, weights first.
[[nodiscard]] std::vector<NamedArena> named_arenas(NetworkState& network);
/// Some of a network's counts of updates, as int64.
struct CountsPiece {
  checkpoint::TensorStretch stored;
  std::span<std::int64_t> values;
  bool is_of_loss_scale = false;
};
/// Returns "generator_optimizer/updates", and the counts of a network's loss scale.
/// @param counts  the network's; the pieces refer to it
[[nodiscard]] std::vector<CountsPiece> counts_pieces(NetworkState& network,
                                                     comm::UpdateCounts& counts);

/// Returns the order of a place's elements in its arena.
[[nodiscard]] checkpoint::StoredOrder order_of(const NetworkState::TensorPlace& place);

/// A stretch of one tensor that one worker owns.
struct OwnedPiece {
  checkpoint::TensorStretch stored;
  std::size_t network = 0;  ///< index of the networks given
  comm::Arena* arena = nullptr;
  comm::ElementRange range;  ///< of the arena

  [[nodiscard]] std::span<float> values() const { return arena->range(range); }
};

/// Returns `worker`'s pieces by network, arena and place; a place in two buckets gives two.
[[nodiscard]] std::vector<OwnedPiece> owned_pieces(std::span<NetworkState* const> networks,
                                                   int worker);

}  // namespace gangway::worker
