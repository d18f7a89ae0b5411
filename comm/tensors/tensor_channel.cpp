// SPDX-License-Identifier: MIT
#include "comm/tensors/tensor_channel.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "comm/transport/peer_error.hpp"

namespace gangway::comm {
namespace {

/// As LibTorch's own allocations: kernels choose by alignment.
constexpr std::size_t kTensorAlignment = 64;

std::shared_ptr<std::byte> aligned_memory(std::size_t bytes) {
  const std::size_t rounded =
      std::max<std::size_t>(1, (bytes + kTensorAlignment - 1) / kTensorAlignment) *
      kTensorAlignment;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(kTensorAlignment, rounded));
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return {memory, [](std::byte* one) { std::free(one); }};
}

}  // namespace

TensorChannel::TensorChannel(Transport& transport, Lane& lane, Setup setup)
    : transport_(transport), lane_(lane), setup_(std::move(setup)) {
  lane_.attach(*this);
}

TensorChannel::~TensorChannel() { lane_.detach(*this); }

void TensorChannel::expect(int peer, int count) {
  {
    const MutexLock lock(mutex_);
    announced_[peer] += count;
    need_.store(Need::kMessages, std::memory_order_release);
  }
  lane_.wake();
}

void TensorChannel::send(int peer, const TensorKey& key, const TensorShape& shape,
                         std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  {
    const MutexLock lock(mutex_);
    submitted_.push_back(
        {.header = {key, shape}, .peer = peer, .bytes = bytes, .owner = std::move(owner)});
    ++unsent_;
    need_.store(Need::kMessages, std::memory_order_release);
  }
  lane_.wake();
}

ReceivedTensor TensorChannel::receive(int peer, const TensorKey& key) {
  const std::pair place(peer, key);
  {
    const MutexLock lock(mutex_);
    if (!here_.contains(place)) {
      wait_ = Wait{.peer = peer, .key = key, .since = Clock::now()};
    }
  }
  lane_.wait_until([&] {
    const MutexLock lock(mutex_);
    return here_.contains(place);
  });
  const MutexLock lock(mutex_);
  wait_.reset();
  return std::move(here_.extract(place).mapped());
}

void TensorChannel::finish_sending() {
  lane_.wait_until([this] {
    const MutexLock lock(mutex_);
    return unsent_ == 0;
  });
}

bool TensorChannel::advance() {
  if (needs() == Need::kNothing) {
    return false;
  }
  take_over();
  bool moved = advance_sends();
  for (auto& [peer, incoming] : incoming_) {
    moved = advance_receives(peer, incoming) || moved;
  }
  if (moved) {
    stall_told_ = false;
  } else {
    check_deadline();
  }
  set_need();
  return moved;
}

void TensorChannel::take_over() {
  const MutexLock lock(mutex_);
  for (; !submitted_.empty(); submitted_.pop_front()) {
    leaving_.push_back(std::move(submitted_.front()));
    Outgoing& one = leaving_.back();
    const auto start = [&](std::span<const std::byte> bytes) {
      one.requests.push_back({transport_.start_send(one.peer, tag(), bytes), one.peer});
    };
    start(std::as_bytes(std::span(&one.header, 1)));  // a deque does not move what it has
    if (!one.bytes.empty()) {
      start(one.bytes);
    }
  }
  for (auto& [peer, count] : announced_) {
    incoming_[peer].expected += std::exchange(count, 0);
  }
}

bool TensorChannel::advance_sends() {
  std::size_t left = 0;
  while (!leaving_.empty() && poll_all(transport_, leaving_.front().requests)) {
    leaving_.pop_front();
    ++left;
  }
  if (left > 0) {
    const MutexLock lock(mutex_);
    unsent_ -= left;
  }
  return left > 0;
}

bool TensorChannel::advance_receives(int peer, Incoming& incoming) {
  bool moved = false;
  while (true) {
    if (!incoming.request) {
      if (incoming.expected == 0) {
        return moved;
      }
      --incoming.expected;
      incoming.is_payload = false;
      incoming.request = transport_.start_receive(
          peer, tag(), std::as_writable_bytes(std::span(&incoming.header, 1)));
    }
    if (!transport_.done(*incoming.request)) {
      return moved;
    }
    incoming.request.reset();
    moved = true;
    if (incoming.is_payload) {
      arrived(peer, incoming);
      continue;
    }
    const TensorShape& shape = incoming.header.shape;
    if (shape.axes > static_cast<int>(TensorShape::kMostAxes)) {
      throw PeerError(peer, fmt::format("worker {}: worker {} sent a tensor of {} axes; were the "
                                        "workers built from one job?",
                                        transport_.worker(), peer, shape.axes));
    }
    incoming.tensor = {.shape = shape, .memory = aligned_memory(shape.bytes)};
    if (shape.bytes == 0) {
      arrived(peer, incoming);
      continue;
    }
    incoming.is_payload = true;
    incoming.request =
        transport_.start_receive(peer, tag(), {incoming.tensor.memory.get(), shape.bytes});
  }
}

void TensorChannel::arrived(int peer, Incoming& incoming) {
  const MutexLock lock(mutex_);
  if (!here_.emplace(std::pair(peer, incoming.header.key), std::move(incoming.tensor)).second) {
    throw InvariantError(fmt::format("worker {} sent a tensor twice; please report this", peer));
  }
}

void TensorChannel::check_deadline() {
  std::string text;
  int peer = 0;
  bool is_over = false;
  {
    const MutexLock lock(mutex_);
    if (!wait_) {
      return;
    }
    peer = wait_->peer;
    const auto waited = Clock::now() - wait_->since;
    is_over = waited >= setup_.timeout;
    if (waited < setup_.timeout / 4 || (stall_told_ && !is_over)) {
      return;
    }
    text = fmt::format(
        "worker {} waited {:.1f} s for worker {} ({} of step {}, micro-batch {}); is it alive, and "
        "is the network up? The limit is layout.timeout_seconds",
        transport_.worker(), std::chrono::duration<double>(waited).count(), peer,
        wait_->key.is_gradient != 0 ? "a gradient" : "a tensor", wait_->key.step,
        wait_->key.microbatch);
  }
  if (is_over) {
    throw PeerError(peer, text);
  }
  stall_told_ = true;
  if (setup_.on_stall) {
    setup_.on_stall(text);
  }
}

void TensorChannel::set_need() {
  const MutexLock lock(mutex_);
  const bool listens = std::ranges::any_of(incoming_, [](const auto& one) {
    return one.second.request.has_value() || one.second.expected > 0;
  });
  const bool is_announced =
      std::ranges::any_of(announced_, [](const auto& one) { return one.second > 0; });
  need_.store(unsent_ > 0 || listens || is_announced ? Need::kMessages : Need::kNothing,
              std::memory_order_release);
}

}  // namespace gangway::comm
