// SPDX-License-Identifier: MIT
// Streams of messages between any workers at once: each end says what comes next, and where what
// comes is put. For state that moves between hosts at a start. Lane thread only.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "comm/transport/transport.hpp"

namespace gangway::comm {

/// What a message is, as its two ends agree.
using StreamWords = std::array<std::uint64_t, 6>;

struct StreamMessage {
  StreamWords words{};
  std::span<const std::byte> bytes;
};

/// Both ends of one worker's streams.
class StreamEnds {
 public:
  virtual ~StreamEnds() = default;
  /// The next message to `peer`; nothing: the stream ends. Its bytes stay until the next call.
  [[nodiscard]] virtual std::optional<StreamMessage> next(int peer) = 0;
  /// Memory of exactly `bytes` for a message from `peer`; it stays until `arrived`.
  /// @throws an Error where the message is none that was agreed on
  [[nodiscard]] virtual std::span<std::byte> place(int peer, const StreamWords& words,
                                                   std::size_t bytes) = 0;
  virtual void arrived(int peer, const StreamWords& words) = 0;
};

/// Runs a stream to each worker of `to` and one from each of `from`, until all have ended; each of
/// them calls it with this worker on the other side.
/// @param timeout  for which nothing at all may arrive
/// @throws CommError naming a silent worker; what `ends` throws
void exchange_streams(Transport& transport, std::span<const int> to, std::span<const int> from,
                      StreamEnds& ends, std::chrono::milliseconds timeout);

}  // namespace gangway::comm
