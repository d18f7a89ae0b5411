// SPDX-License-Identifier: MIT
#include "pipeline/stages/leaf_order.hpp"

#include <algorithm>
#include <map>

namespace gangway::pipeline {
namespace {

/// Returns the first node that needs a tensor of another worker; earlier nodes need none.
int first_received(const PassShare& share) {
  return share.receives.empty() ? static_cast<int>(share.mine.size()) : share.receives.front().node;
}

/// Orders each receiver's first micro-batch before each one's second, so that all get work early.
std::vector<int> order_ahead(const PassShares& shares, const Phase& phase) {
  std::map<int, int> place;  // rank among the micro-batches of one receiver
  std::map<int, int> sent;   // micro-batches of each receiver
  std::vector<int> order;
  for (int microbatch = shares.local().begin; microbatch < shares.local().end; ++microbatch) {
    order.push_back(microbatch);
    for (int pass = 0; pass < static_cast<int>(phase.passes.size()); ++pass) {
      const PassShare& one = shares.of(phase.index, pass, microbatch);
      if (!one.sends.empty() && !place.contains(microbatch)) {
        place[microbatch] = sent[one.sends.front().peer]++;
      }
    }
  }
  std::ranges::stable_sort(order, {}, [&](int microbatch) { return place[microbatch]; });
  return order;
}

/// Returns how many nodes of the pass run before the leaf: nodes that other workers wait for, or
/// nodes that this worker can run while it waits for others.
int end_ahead(const PassShares& shares, const Phase& phase, int pass, int microbatch) {
  bool waits = false;
  for (int other = 0; other < static_cast<int>(phase.passes.size()); ++other) {
    waits = waits || !shares.of(phase.index, other, microbatch).receives.empty();
  }
  const PassShare& share = shares.of(phase.index, pass, microbatch);
  if (share.sends.empty() && (share.crosses() || !waits)) {
    return 0;
  }
  return std::min(first_received(share),
                  first_penalty(phase.passes[static_cast<std::size_t>(pass)]));
}

}  // namespace

std::vector<StagePiece> leaf_order(const PassShares& shares, const std::vector<StageUnit>& units) {
  std::vector<StagePiece> pieces;
  for (int unit = 0; unit < static_cast<int>(units.size()); ++unit) {
    const Phase& phase = *units[static_cast<std::size_t>(unit)].phase;
    const std::vector<int> ahead = order_ahead(shares, phase);
    for (const int microbatch : ahead) {
      for (int pass = 0; pass < static_cast<int>(phase.passes.size()); ++pass) {
        for (int node = 0; node < end_ahead(shares, phase, pass, microbatch); ++node) {
          pieces.push_back({unit, StagePiece::Kind::kForward, microbatch, pass, node});
        }
      }
    }
    for (int microbatch = shares.local().begin; microbatch < shares.local().end; ++microbatch) {
      pieces.push_back({unit, StagePiece::Kind::kLeaf, microbatch});
    }
    pieces.push_back({.unit = unit, .kind = StagePiece::Kind::kEnd});
  }
  return pieces;
}

}  // namespace gangway::pipeline
