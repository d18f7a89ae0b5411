// SPDX-License-Identifier: MIT
#include "comm/tensors/tensor_channel.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "comm/transport/peer_error.hpp"

namespace gangway::comm {

TensorChannel::TensorChannel(Transport& transport, Lane& lane, TensorChannelSetup setup)
    : transport_(transport),
      lane_(lane),
      setup_(std::move(setup)),
      messages_(transport, setup_.most_joined) {
  if (setup_.streams != nullptr) {
    streams_.emplace(*setup_.streams, transport_.worker());
  }
  lane_.wait(lane_.submit([this] { transport_.bound_bulk(setup_.bulk_window); }));
  lane_.attach(*this);
}

TensorChannel::~TensorChannel() { lane_.detach(*this); }

TensorWay& TensorChannel::way_to(int peer) {
  if (is_shared(peer)) {
    return *streams_;
  }
  return messages_;
}

void TensorChannel::call_for(int peer) {
  need_.store(std::max(need_.load(std::memory_order_relaxed), need_of(peer)),
              std::memory_order_release);
}

void TensorChannel::expect(int peer, int count) {
  {
    const MutexLock lock(mutex_);
    announced_[peer] += count;
    call_for(peer);
  }
  lane_.wake();
}

void TensorChannel::send(int peer, const TensorKey& key, const TensorShape& shape,
                         std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  {
    const MutexLock lock(mutex_);
    submitted_.push_back(
        {.peer = peer, .header = {key, shape}, .bytes = bytes, .owner = std::move(owner)});
    ++unsent_;
    call_for(peer);
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
  {
    const MutexLock lock(mutex_);
    wait_ = Wait{.since = Clock::now()};
  }
  lane_.wait_until([this] {
    const MutexLock lock(mutex_);
    return unsent_ == 0;
  });
  const MutexLock lock(mutex_);
  wait_.reset();
}

bool TensorChannel::advance() {
  if (needs() == Need::kNothing) {
    return false;
  }
  take_over();
  const auto take = [this](int peer, const TensorKey& key, ReceivedTensor tensor) {
    arrived(peer, key, std::move(tensor));
  };
  bool moved = streams_ && streams_->advance(take);
  moved = messages_.advance(take) || moved;
  settle(moved);
  if (moved) {
    stall_reported_ = false;
  } else {
    check_deadline();
  }
  return moved;
}

void TensorChannel::take_over() {
  const MutexLock lock(mutex_);
  for (; !submitted_.empty(); submitted_.pop_front()) {
    const int peer = submitted_.front().peer;
    way_to(peer).send(std::move(submitted_.front()));
  }
  for (auto& [peer, count] : announced_) {
    if (count > 0) {
      way_to(peer).expect(peer, std::exchange(count, 0));
    }
  }
}

void TensorChannel::arrived(int peer, const TensorKey& key, ReceivedTensor tensor) {
  const MutexLock lock(mutex_);
  if (!here_.emplace(std::pair(peer, key), std::move(tensor)).second) {
    throw InvariantError(fmt::format("rank {} sent a tensor twice; please report this",
                                     rank_of(transport_.number_of(peer))));
  }
}

void TensorChannel::check_deadline() {
  std::optional<Wait> wait;
  {
    const MutexLock lock(mutex_);
    wait = wait_;
  }
  if (!wait) {
    return;
  }
  if (!wait->key) {
    const bool is_shared = streams_ && streams_->num_unsent() > 0;
    if (!is_shared && messages_.num_unsent() == 0) {
      return;  // the compute thread is about to notice
    }
    wait->peer = is_shared ? streams_->awaited_receiver() : messages_.awaited_receiver();
  }
  const auto waited = Clock::now() - wait->since;
  const bool is_over = waited >= setup_.timeout;
  if (waited < setup_.timeout / 4 || (stall_reported_ && !is_over)) {
    return;
  }
  const std::string text = describe(*wait, std::chrono::duration<double>(waited).count());
  if (is_over) {
    throw PeerError(transport_.number_of(wait->peer), text);
  }
  stall_reported_ = true;
  if (setup_.on_stall) {
    setup_.on_stall(text);
  }
}

std::string TensorChannel::describe(const Wait& wait, double seconds) const {
  const std::string what = wait.key
                               ? fmt::format("{} of step {}, micro-batch {}",
                                             wait.key->is_gradient != 0 ? "a gradient" : "a tensor",
                                             wait.key->step, wait.key->microbatch)
                               : "which takes no tensors";
  return silence_text(transport_.own_number(), seconds, transport_.number_of(wait.peer), what);
}

void TensorChannel::settle(bool moved) {
  const MutexLock lock(mutex_);
  unsent_ = submitted_.size() + messages_.num_unsent() + (streams_ ? streams_->num_unsent() : 0);
  if (moved && wait_ && !wait_->key) {
    wait_->since = Clock::now();
  }
  Need need = Need::kNothing;
  if (streams_ && (streams_->num_unsent() > 0 || streams_->listens())) {
    need = Need::kHost;
  }
  if (messages_.num_unsent() > 0 || messages_.listens()) {
    need = Need::kMessages;
  }
  for (const OutgoingTensor& tensor : submitted_) {
    need = std::max(need, need_of(tensor.peer));
  }
  for (const auto& [peer, count] : announced_) {
    need = count > 0 ? std::max(need, need_of(peer)) : need;
  }
  need_.store(need, std::memory_order_release);
}

}  // namespace gangway::comm
