// SPDX-License-Identifier: MIT
#include "plan/partial_sums.hpp"

#include <algorithm>
#include <vector>

#include "comm/arena/reduction_tree.hpp"

namespace gangway::plan {

PartialSums partial_sums(MicrobatchRange range, int num_microbatches) {
  PartialSums sums;
  std::vector<MicrobatchRange> stack;
  for (int microbatch = range.begin; microbatch < range.end; ++microbatch) {
    stack.push_back({microbatch, microbatch + 1});
    sums.buffers = std::max(sums.buffers, static_cast<int>(stack.size()));
    sums.early_merges += sums.last_merges;
    sums.last_merges = 0;
    while (stack.size() >= 2) {
      const MicrobatchRange right = stack.back();
      const MicrobatchRange left = stack[stack.size() - 2];
      const MicrobatchRange parent = comm::parent_of(right, num_microbatches);
      if (parent != MicrobatchRange{left.begin, right.end}) {
        break;
      }
      stack.pop_back();
      stack.back() = parent;
      ++sums.last_merges;
    }
  }
  sums.partials = static_cast<int>(stack.size());
  return sums;
}

}  // namespace gangway::plan
