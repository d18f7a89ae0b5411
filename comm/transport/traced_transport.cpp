// SPDX-License-Identifier: MIT
#include "comm/transport/traced_transport.hpp"

#include <algorithm>

namespace gangway::comm {
namespace {

// Most messages traced at once; further messages are not traced.
constexpr std::size_t kMostOpen = 4096;

}  // namespace

TracedTransport::TracedTransport(Transport& inner, std::size_t capacity)
    : inner_(inner), ring_(capacity) {
  open_.reserve(kMostOpen);
}

void TracedTransport::opened(RequestId request, const MessageEvent& event) {
  if (ring_.is_on() && open_.size() < kMostOpen) {
    open_.push_back({request, event});
  }
}

RequestId TracedTransport::start_send(int peer, MessageTag tag, std::span<const std::byte> bytes) {
  const auto begin = TraceClock::now();
  const RequestId request = inner_.start_send(peer, tag, bytes);
  count_sent(tag, bytes.size());
  opened(request, {begin, {}, tag, peer, bytes.size(), /*is_send=*/true});
  return request;
}

RequestId TracedTransport::start_receive(int peer, MessageTag tag, std::span<std::byte> bytes) {
  const auto begin = TraceClock::now();
  const RequestId request = inner_.start_receive(peer, tag, bytes);
  opened(request, {begin, {}, tag, peer, bytes.size(), /*is_send=*/false});
  return request;
}

RequestId TracedTransport::start_receive_up_to(int peer, MessageTag tag,
                                               std::span<std::byte> bytes) {
  const auto begin = TraceClock::now();
  const RequestId request = inner_.start_receive_up_to(peer, tag, bytes);
  opened(request, {begin, {}, tag, peer, bytes.size(), /*is_send=*/false});
  return request;
}

bool TracedTransport::done(RequestId request) {
  if (!inner_.done(request)) {
    return false;
  }
  const auto found = std::ranges::find(open_, request, &Open::request);
  if (found != open_.end()) {
    found->event.end = TraceClock::now();
    ring_.add(found->event);
    *found = open_.back();
    open_.pop_back();
  }
  return true;
}

}  // namespace gangway::comm
