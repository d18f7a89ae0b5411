// SPDX-License-Identifier: MIT
// Runs streams of messages between any workers at once; each end supplies its messages and the
// memory to receive into. Moves state between hosts at a start. Lane thread only.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "comm/transport/transport.hpp"

namespace gangway::comm {

/// A message's identity; both ends agree on its meaning.
using StreamWords = std::array<std::uint64_t, 6>;

struct StreamMessage {
  StreamWords words{};
  std::span<const std::byte> bytes;
};

/// Supplies messages to send and memory to receive into, for one worker's streams.
class StreamEnds {
 public:
  virtual ~StreamEnds() = default;
  /// The next message to `peer`; none: the stream ends. Its bytes stay valid until the next call.
  [[nodiscard]] virtual std::optional<StreamMessage> next(int peer) = 0;
  /// Returns memory of exactly `bytes` for a message from `peer`; it stays valid until `arrived`.
  /// @throws an Error if the message was not agreed on
  [[nodiscard]] virtual std::span<std::byte> place(int peer, const StreamWords& words,
                                                   std::size_t bytes) = 0;
  virtual void arrived(int peer, const StreamWords& words) = 0;
};

/// Runs a stream to each worker of `to` and from each of `from`, until all have ended. Each of
/// those workers calls it too, with this worker in its own lists.
/// @param timeout  longest time without any arrival
/// @throws CommError naming a silent worker; exceptions of `ends`
void exchange_streams(Transport& transport, std::span<const int> to, std::span<const int> from,
                      StreamEnds& ends, std::chrono::milliseconds timeout);

}  // namespace gangway::comm
