// SPDX-License-Identifier: MIT
// How a message is cut into segments: by its length alone, so that both ends cut alike. Pure.
#pragma once

#include <algorithm>
#include <cstddef>

namespace gangway::comm {

/// The most bytes of a segment. Open MPI sends up to 64 KiB, header included, without asking first
/// (btl_tcp_eager_limit).
inline constexpr std::size_t kMostSegmentBytes = std::size_t{60} << 10U;

/// At least one, which is empty for an empty message.
[[nodiscard]] inline std::size_t num_segments(std::size_t bytes) {
  return std::max<std::size_t>(1, (bytes + kMostSegmentBytes - 1) / kMostSegmentBytes);
}

/// Where segment `index` of a message begins; num_segments(bytes) gives the end of the last.
///
/// The first one is shorter, the more so the more there are: the segments of a message of another
/// length never all fit, and a wrong length is seen even though MPI compares only segments.
[[nodiscard]] inline std::size_t segment_begin(std::size_t bytes, std::size_t index) {
  const std::size_t count = num_segments(bytes);
  if (index == 0 || count == 1) {
    return index == 0 ? 0 : bytes;
  }
  const std::size_t even = bytes / count;
  const std::size_t first = even - std::min(count, even / 2);
  return first + (bytes - first) * (index - 1) / (count - 1);
}

}  // namespace gangway::comm
