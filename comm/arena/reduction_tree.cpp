// SPDX-License-Identifier: MIT
#include "comm/arena/reduction_tree.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/errors.hpp"

namespace gangway::comm {
namespace {

void collect(MicrobatchRange node, MicrobatchRange range, std::vector<MicrobatchRange>& found) {
  if (range.contains(node)) {
    found.push_back(node);
    return;
  }
  if (node.end <= range.begin || range.end <= node.begin) {
    return;
  }
  const int middle = split_point(node);
  collect({node.begin, middle}, range, found);
  collect({middle, node.end}, range, found);
}

}  // namespace

std::vector<MicrobatchRange> whole_subtrees(MicrobatchRange range, int num_microbatches) {
  std::vector<MicrobatchRange> found;
  if (range.size() > 0) {
    collect({0, num_microbatches}, range, found);
  }
  return found;
}

int covered_from_start(std::vector<MicrobatchRange> ranges) {
  std::erase_if(ranges, [](MicrobatchRange range) { return range.size() == 0; });
  std::ranges::sort(ranges, {}, &MicrobatchRange::begin);
  int covered = 0;
  for (const MicrobatchRange& range : ranges) {
    if (range.begin != covered) {
      return -1;
    }
    covered = range.end;
  }
  return covered;
}

MicrobatchRange parent_of(MicrobatchRange node, int num_microbatches) {
  MicrobatchRange current{0, num_microbatches};
  while (current != node) {
    if (current.size() < 2 || !current.contains(node)) {
      throw InvariantError(
          fmt::format("[{}, {}) is no subtree of {} micro-batches; please report this", node.begin,
                      node.end, num_microbatches));
    }
    const int middle = split_point(current);
    const MicrobatchRange child = node.begin < middle ? MicrobatchRange{current.begin, middle}
                                                      : MicrobatchRange{middle, current.end};
    if (child == node) {
      return current;
    }
    current = child;
  }
  return node;
}

}  // namespace gangway::comm
