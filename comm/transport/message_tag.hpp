// SPDX-License-Identifier: MIT
// Packs a message's identity into the integer that transports match on. It includes the epoch, so
// no message sent before a loss is taken for one sent after it. Any thread.
#pragma once

#include <cstdint>

namespace gangway::comm {

enum class MessageKind : std::uint8_t {
  kPartial = 0,
  kWeights = 1,
  kScalars = 2,
  kGather = 3,
  kBarrier = 4,
  kClock = 5,
  kCheck = 6,
  kState = 7,
  kTensor = 8
};

/// Messages of equal tag between two ranks arrive in the order they were sent.
struct MessageTag {
  std::int64_t epoch = 0;
  int network = 0;  ///< 0..7
  MessageKind kind = MessageKind::kPartial;
  int bucket = 0;  ///< 0..127
  int part = 0;    ///< 0..63: partial within a bucket, arena within a gather

  /// Packs into less than kControlTag (run/control_protocol.hpp): 10 epoch bits over 20 others.
  [[nodiscard]] int packed() const {
    return static_cast<int>(
        (static_cast<std::uint32_t>(epoch & 0x3FF) << 20U) |
        (static_cast<std::uint32_t>(network) << 17U) | (static_cast<std::uint32_t>(kind) << 13U) |
        (static_cast<std::uint32_t>(bucket) << 6U) | static_cast<std::uint32_t>(part));
  }
};

}  // namespace gangway::comm
