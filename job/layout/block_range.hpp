// SPDX-License-Identifier: MIT
// A contiguous range of a network's blocks. Pure.
#pragma once

namespace gangway {

/// The blocks [begin, end) of a network.
struct BlockRange {
  int begin = 0;
  int end = 1;
  bool operator==(const BlockRange&) const = default;
};

}  // namespace gangway
