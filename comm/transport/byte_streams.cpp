// SPDX-License-Identifier: MIT
#include "comm/transport/byte_streams.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "comm/transport/deadline.hpp"
#include "comm/transport/peer_error.hpp"

namespace gangway::comm {
namespace {

/// Precedes the bytes of each message.
struct StreamHeader {
  std::uint64_t is_message = 0;  // 0: the stream ends
  std::uint64_t bytes = 0;
  StreamWords words{};
};

constexpr int kHeaderPart = 0;
constexpr int kBytesPart = 1;

MessageTag tag_of(const Transport& transport, int part) {
  return {transport.epoch(), 0, MessageKind::kState, 0, part};
}

class Outgoing {
 public:
  Outgoing(Transport& transport, int peer, StreamEnds& ends)
      : transport_(transport), ends_(ends), peer_(peer) {}

  [[nodiscard]] bool has_ended() const { return has_ended_; }
  [[nodiscard]] int peer() const { return peer_; }

  /// Does all work that does not block. Returns true if it made progress.
  bool advance() {
    if (!poll(header_sent_) || !poll(bytes_sent_)) {
      return false;
    }
    if (is_last_) {
      return !std::exchange(has_ended_, true);
    }
    const auto message = ends_.next(peer_);
    is_last_ = !message;
    header_ = message ? StreamHeader{1, message->bytes.size(), message->words} : StreamHeader{};
    header_sent_ = transport_.start_send(peer_, tag_of(transport_, kHeaderPart),
                                         std::as_bytes(std::span(&header_, 1)));
    if (message && !message->bytes.empty()) {
      bytes_sent_ = transport_.start_send(peer_, tag_of(transport_, kBytesPart), message->bytes);
    }
    return true;
  }

 private:
  /// Returns true if `request` is absent or done.
  bool poll(std::optional<RequestId>& request) {
    if (request && transport_.done(*request)) {
      request.reset();
    }
    return !request;
  }

  Transport& transport_;
  StreamEnds& ends_;
  int peer_;
  StreamHeader header_;
  std::optional<RequestId> header_sent_;
  std::optional<RequestId> bytes_sent_;
  bool is_last_ = false;
  bool has_ended_ = false;
};

class Incoming {
 public:
  Incoming(Transport& transport, int peer, StreamEnds& ends)
      : transport_(transport), ends_(ends), peer_(peer) {}

  [[nodiscard]] bool has_ended() const { return has_ended_; }
  [[nodiscard]] int peer() const { return peer_; }

  bool advance() {
    if (!request_) {
      request_ = transport_.start_receive(peer_, tag_of(transport_, kHeaderPart),
                                          std::as_writable_bytes(std::span(&header_, 1)));
    }
    if (!transport_.done(*request_)) {
      return false;
    }
    request_.reset();
    if (!is_inside_ && header_.is_message == 0) {
      has_ended_ = true;
    } else if (!is_inside_ && header_.bytes > 0) {
      is_inside_ = true;
      request_ = transport_.start_receive(peer_, tag_of(transport_, kBytesPart),
                                          ends_.place(peer_, header_.words, header_.bytes));
    } else {
      is_inside_ = false;
      ends_.arrived(peer_, header_.words);
    }
    return true;
  }

 private:
  Transport& transport_;
  StreamEnds& ends_;
  int peer_;
  StreamHeader header_;
  std::optional<RequestId> request_;
  bool is_inside_ = false;  // the header has arrived, the bytes have not
  bool has_ended_ = false;
};

/// Advances every stream that has not ended. Returns true if any made progress.
template <typename Stream>
bool advance_all(std::vector<Stream>& streams) {
  bool any = false;
  for (Stream& stream : streams) {
    any = (!stream.has_ended() && stream.advance()) || any;
  }
  return any;
}

template <typename Stream>
const Stream* open_one(const std::vector<Stream>& streams) {
  const auto found = std::ranges::find(streams, false, &Stream::has_ended);
  return found == streams.end() ? nullptr : &*found;
}

}  // namespace

void exchange_streams(Transport& transport, std::span<const int> to, std::span<const int> from,
                      StreamEnds& ends, std::chrono::milliseconds timeout) {
  std::vector<Outgoing> outgoing;
  for (const int peer : to) {
    outgoing.emplace_back(transport, peer, ends);
  }
  std::vector<Incoming> incoming;
  for (const int peer : from) {
    incoming.emplace_back(transport, peer, ends);
  }
  Deadline deadline(timeout);
  while (open_one(outgoing) != nullptr || open_one(incoming) != nullptr) {
    const bool has_sent = advance_all(outgoing);
    const bool has_received = advance_all(incoming);
    if (has_sent || has_received) {
      deadline = Deadline(timeout);
      continue;
    }
    if (deadline.expired()) {
      const Incoming* silent = open_one(incoming);
      const WorkerIndex peer =
          transport.number_of(silent != nullptr ? silent->peer() : open_one(outgoing)->peer());
      throw PeerError(peer, silence_text(transport.own_number(), deadline.allowed_seconds(), peer,
                                         "state at the start"));
    }
    transport.idle();
  }
}

}  // namespace gangway::comm
