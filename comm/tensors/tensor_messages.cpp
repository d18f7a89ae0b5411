// SPDX-License-Identifier: MIT
#include "comm/tensors/tensor_messages.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gangway::comm {

void TensorMessages::send(OutgoingTensor tensor) {
  Outgoing& one = leaving_.emplace_back(Outgoing{.tensor = std::move(tensor)});
  const auto start = [&](std::span<const std::byte> bytes) {
    one.requests.push_back({transport_.start_send(one.tensor.peer, tag(), bytes), one.tensor.peer});
  };
  const std::span<const std::byte> header = std::as_bytes(std::span(&one.tensor.header, 1));
  if (!is_joined(one.tensor.header.shape)) {
    start(header);  // the header's address stays valid because a deque moves no element
    start(one.tensor.bytes);
    return;
  }
  one.joined.reserve(header.size() + one.tensor.bytes.size());
  one.joined.assign(header.begin(), header.end());
  one.joined.insert(one.joined.end(), one.tensor.bytes.begin(), one.tensor.bytes.end());
  one.tensor.owner.reset();
  start(one.joined);
}

bool TensorMessages::advance(const Arrived& arrived) {
  bool moved = false;
  while (!leaving_.empty() && poll_all(transport_, leaving_.front().requests)) {
    leaving_.pop_front();
    moved = true;
  }
  for (auto& [peer, incoming] : incoming_) {
    moved = advance_receives(peer, incoming, arrived) || moved;
  }
  return moved;
}

bool TensorMessages::advance_receives(int peer, Incoming& incoming, const Arrived& arrived) {
  bool moved = false;
  while (incoming.expected > 0) {
    if (!incoming.request) {
      incoming.is_elements = false;
      incoming.joined.resize(sizeof(TensorHeader) + most_joined_);
      incoming.request = transport_.start_receive_up_to(peer, tag(), incoming.joined);
    }
    if (!transport_.done(*incoming.request)) {
      return moved;
    }
    incoming.request.reset();
    moved = true;
    if (!incoming.is_elements && !take_first(peer, incoming)) {
      incoming.is_elements = true;
      incoming.request = transport_.start_receive(
          peer, tag(), {incoming.tensor.memory.get(), incoming.header.shape.bytes});
      continue;
    }
    --incoming.expected;
    arrived(peer, incoming.header.key, std::exchange(incoming.tensor, {}));
  }
  return moved;
}

bool TensorMessages::take_first(int peer, Incoming& incoming) {
  std::memcpy(&incoming.header, incoming.joined.data(), sizeof(TensorHeader));
  const TensorShape& shape = incoming.header.shape;
  incoming.tensor = room_for(shape, transport_.own_number(), transport_.number_of(peer));
  if (!is_joined(shape)) {
    return false;
  }
  std::memcpy(incoming.tensor.memory.get(), incoming.joined.data() + sizeof(TensorHeader),
              shape.bytes);
  return true;
}

bool TensorMessages::listens() const {
  return std::ranges::any_of(incoming_, [](const auto& one) { return one.second.expected > 0; });
}

}  // namespace gangway::comm
