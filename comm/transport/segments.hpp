// SPDX-License-Identifier: MIT
// Cuts a message into segments by its length alone, so that both ends cut alike. Pure; any thread.
#pragma once

#include <algorithm>
#include <cstddef>

namespace gangway::comm {

/// Most bytes of a segment. Open MPI sends up to 64 KiB, header included, without asking the
/// receiver (btl_tcp_eager_limit).
inline constexpr std::size_t kMostSegmentBytes = std::size_t{60} << 10U;

/// The number of segments: at least one, which is empty for an empty message.
[[nodiscard]] inline std::size_t num_segments(std::size_t bytes) {
  return std::max<std::size_t>(1, (bytes + kMostSegmentBytes - 1) / kMostSegmentBytes);
}

/// Where segment `index` of a message begins; num_segments(bytes) gives the last one's end.
///
/// The first segment is shorter by the number of segments. Segments of another message length
/// never all match, so a wrong length is detected although MPI compares only segments.
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
