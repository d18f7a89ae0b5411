// SPDX-License-Identifier: MIT
// Assigns micro-batches to workers: contiguous ranges, so that each holds a few whole subtrees.
// Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace gangway {

/// The micro-batches [begin, end).
struct MicrobatchRange {
  int begin = 0;
  int end = 0;
  [[nodiscard]] int size() const { return end - begin; }
  [[nodiscard]] bool contains(MicrobatchRange other) const {
    return begin <= other.begin && other.end <= end;
  }
  bool operator==(const MicrobatchRange&) const = default;
};

/// Returns [w*M/W, (w+1)*M/W) for worker w of W: sizes differ by at most one.
/// @pre 1 <= workers <= M
[[nodiscard]] inline MicrobatchRange microbatch_range(int microbatches, int workers, int worker) {
  const auto bound = [&](int index) {
    return static_cast<int>(static_cast<std::int64_t>(index) * microbatches / workers);
  };
  return {.begin = bound(worker), .end = bound(worker + 1)};
}

/// Returns the ranges of all workers, by worker index.
[[nodiscard]] inline std::vector<MicrobatchRange> microbatch_ranges(int microbatches, int workers) {
  std::vector<MicrobatchRange> ranges;
  for (int worker = 0; worker < workers; ++worker) {
    ranges.push_back(microbatch_range(microbatches, workers, worker));
  }
  return ranges;
}

}  // namespace gangway
