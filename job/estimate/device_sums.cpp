// SPDX-License-Identifier: MIT
#include "job/estimate/device_sums.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/errors.hpp"

namespace gangway {
namespace {

/// Counts the whole subtrees of `node` (comm/arena/reduction_tree.hpp) that make up `range`.
int subtrees_in(MicrobatchRange range, MicrobatchRange node) {
  if (range.end <= node.begin || node.end <= range.begin) {
    return 0;
  }
  if (range.begin <= node.begin && node.end <= range.end) {
    return 1;
  }
  const int middle = node.begin + node.size() / 2;
  return subtrees_in(range, {node.begin, middle}) + subtrees_in(range, {middle, node.end});
}

/// Leaves are added from the left; those that wait for a sibling stay beside the open leaf.
int buffers_in(MicrobatchRange range, MicrobatchRange node) {
  if (range.end <= node.begin || node.end <= range.begin) {
    return 0;
  }
  if (node.size() == 1) {
    return 1;
  }
  const int middle = node.begin + node.size() / 2;
  const MicrobatchRange left{node.begin, middle};
  return std::max(buffers_in(range, left),
                  subtrees_in(range, left) + buffers_in(range, {middle, node.end}));
}

}  // namespace

int device_sums(MicrobatchRange range, int microbatches) {
  return subtrees_in(range, {0, microbatches});
}

int gradient_buffers(MicrobatchRange range, int microbatches) {
  return buffers_in(range, {0, microbatches});
}

int most_device_sums(const JobSpec& spec, const Layout& layout) {
  int most = 0;
  for (const NetworkGroup& group : layout) {
    for (ChunkIndex chunk; chunk.value() < group.num_chunks(); ++chunk) {
      int sums = 0;
      for (const MicrobatchRange range : group.group_of(chunk).ranges) {
        sums += device_sums(range, spec.training.microbatches);
      }
      most = std::max(most, sums);
    }
  }
  return most;
}

void require_few_device_sums(const JobSpec& spec, const Layout& layout) {
  if (spec.numerics.device != DeviceKind::kCuda || spec.numerics.order != SumOrder::kTree) {
    return;
  }
  const int sums = most_device_sums(spec, layout);
  if (sums > kMostDeviceSums) {
    throw ConfigError(fmt::format(
        "the workers of a network bring {} sums of training.microbatches {}, and a GPU adds up {} "
        "at most; use fewer workers, or a power of two of them that divides the micro-batches, so "
        "that each brings one",
        sums, spec.training.microbatches, kMostDeviceSums));
  }
}

}  // namespace gangway
