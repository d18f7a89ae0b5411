// SPDX-License-Identifier: MIT
// What a message between workers is, packed into the integer that transports match on. The epoch is
// part of it, so that nothing sent before a loss is ever taken for something sent after it.
#pragma once

#include <cstdint>
#include <string>

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

  /// Below kControlTag (run/control_protocol.hpp): 10 bits of epoch over 20 of content.
  [[nodiscard]] int packed() const {
    return static_cast<int>(
        (static_cast<std::uint32_t>(epoch & 0x3FF) << 20U) |
        (static_cast<std::uint32_t>(network) << 17U) | (static_cast<std::uint32_t>(kind) << 13U) |
        (static_cast<std::uint32_t>(bucket) << 6U) | static_cast<std::uint32_t>(part));
  }
};

}  // namespace gangway::comm
