// SPDX-License-Identifier: MIT
// A contiguous range of a network's blocks. Pure.
#pragma once

#include "base/index.hpp"

namespace gangway {

/// The blocks [begin, end) of a network.
struct BlockRange {
  int begin = 0;
  int end = 1;
  bool operator==(const BlockRange&) const = default;
};

/// A chunk of a network that is cut, in network order; of a whole network the only one.
using ChunkIndex = Index<struct ChunkKind>;

}  // namespace gangway
