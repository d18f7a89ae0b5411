// SPDX-License-Identifier: MIT
#include "comm/tensors/tensor_streams.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace gangway::comm {
namespace {

constexpr std::size_t kHeader = sizeof(TensorHeader);
// This lane wakes the receiving lane after each piece of so many bytes, so that both copy at once.
constexpr std::size_t kPieceBytes = std::size_t{256} << 10U;

template <typename Byte>
std::span<Byte> piece_of(std::span<Byte> bytes, std::size_t begin) {
  return bytes.subspan(begin, std::min(bytes.size() - begin, kPieceBytes));
}

}  // namespace

void TensorStreams::send(OutgoingTensor tensor) {
  std::deque<Outgoing>& leaving = leaving_[tensor.peer];
  leaving.push_back({.tensor = std::move(tensor)});
  ++num_unsent_;
}

bool TensorStreams::advance(const Arrived& arrived) {
  bool moved = false;
  for (auto& [peer, leaving] : leaving_) {
    moved = advance_sends(peer, leaving) || moved;
  }
  for (auto& [peer, incoming] : incoming_) {
    moved = advance_receives(peer, incoming, arrived) || moved;
  }
  return moved;
}

bool TensorStreams::advance_sends(int peer, std::deque<Outgoing>& leaving) {
  bool moved = false;
  while (!leaving.empty()) {
    Outgoing& one = leaving.front();
    const auto header = std::as_bytes(std::span(&one.tensor.header, 1));
    const std::size_t before = one.written;
    if (one.written < kHeader) {
      one.written += streams_.write(peer, header.subspan(one.written));
    }
    if (one.written >= kHeader) {
      one.written += streams_.write(peer, piece_of(one.tensor.bytes, one.written - kHeader));
    }
    if (one.written > before) {
      streams_.ring();
      moved = true;
    }
    if (one.written == kHeader + one.tensor.bytes.size()) {
      leaving.pop_front();
      --num_unsent_;
    } else if (one.written == before) {
      return moved;
    }
  }
  return moved;
}

bool TensorStreams::advance_receives(int peer, Incoming& incoming, const Arrived& arrived) {
  bool moved = false;
  while (incoming.expected > 0) {
    const std::size_t before = incoming.taken;
    if (incoming.taken < kHeader) {
      const auto header = std::as_writable_bytes(std::span(&incoming.header, 1));
      incoming.taken += streams_.read(peer, header.subspan(incoming.taken));
      if (incoming.taken == kHeader) {
        incoming.tensor = room_for(incoming.header.shape, WorkerIndex(worker_), WorkerIndex(peer));
      }
    }
    const std::size_t bytes = incoming.header.shape.bytes;
    if (incoming.taken >= kHeader) {
      const std::span<std::byte> elements(incoming.tensor.memory.get(), bytes);
      incoming.taken += streams_.read(peer, piece_of(elements, incoming.taken - kHeader));
    }
    if (incoming.taken > before) {
      streams_.ring();  // the sender has room again
      moved = true;
    }
    if (incoming.taken >= kHeader && incoming.taken == kHeader + bytes) {
      incoming.taken = 0;
      --incoming.expected;
      arrived(peer, incoming.header.key, std::exchange(incoming.tensor, {}));
    } else if (incoming.taken == before) {
      return moved;
    }
  }
  return moved;
}

int TensorStreams::awaited_receiver() const {
  return std::ranges::find_if(leaving_, [](const auto& one) { return !one.second.empty(); })->first;
}

bool TensorStreams::listens() const {
  return std::ranges::any_of(incoming_, [](const auto& one) { return one.second.expected > 0; });
}

}  // namespace gangway::comm
