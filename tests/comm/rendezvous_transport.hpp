// SPDX-License-Identifier: MIT
// Ranks as threads. Messages go directly from the sender's memory into the receiver's: a send ends
// when it is received, as with large messages of MPI. Allocates nothing after the start.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "comm/transport/transport.hpp"

namespace gangway::comm {

/// The wires between the ranks of one test; outlives its transports. Thread-safe.
class RendezvousHub {
 public:
  explicit RendezvousHub(int num_workers) : num_workers_(num_workers), posts_(kMostPosts) {}
  [[nodiscard]] int num_workers() const { return num_workers_; }

 private:
  friend class RendezvousTransport;
  static constexpr std::size_t kMostPosts = 4096;
  /// A send that waits for its receive.
  struct Post {
    bool used = false;
    bool taken = false;
    int from = 0;
    int to = 0;
    int tag = 0;
    std::uint64_t number = 0;  ///< orders messages with equal tags
    std::span<const std::byte> bytes;
  };

  int num_workers_;
  std::mutex mutex_;  // guards the next two members
  std::vector<Post> posts_;
  std::uint64_t next_number_ = 0;
};

class RendezvousTransport final : public Transport {
 public:
  RendezvousTransport(RendezvousHub& hub, int worker) : hub_(hub), worker_(worker) {}

  [[nodiscard]] int worker() const override { return worker_; }
  [[nodiscard]] int num_workers() const override { return hub_.num_workers(); }
  [[nodiscard]] std::int64_t epoch() const override { return 0; }

  [[nodiscard]] RequestId start_send(int peer, MessageTag tag,
                                     std::span<const std::byte> bytes) override {
    const std::scoped_lock lock(hub_.mutex_);
    count_sent(tag, bytes.size());
    const auto post = std::ranges::find(hub_.posts_, false, &RendezvousHub::Post::used);
    if (post == hub_.posts_.end()) {
      throw std::length_error("too many sends at once for this test");
    }
    *post = {true, false, worker_, peer, tag.packed(), hub_.next_number_++, bytes};
    return kSend + static_cast<RequestId>(post - hub_.posts_.begin());
  }

  [[nodiscard]] RequestId start_receive(int peer, MessageTag tag,
                                        std::span<std::byte> bytes) override {
    const auto receive = std::ranges::find(receives_, false, &Receive::used);
    if (receive == receives_.end()) {
      throw std::length_error("too many receives at once for this test");
    }
    *receive = {true, peer, tag.packed(), bytes};
    return static_cast<RequestId>(receive - receives_.begin());
  }

  [[nodiscard]] RequestId start_receive_up_to(int peer, MessageTag tag,
                                              std::span<std::byte> bytes) override {
    return start_receive(peer, tag, bytes);  // receives the sent bytes
  }

  [[nodiscard]] bool done(RequestId request) override {
    const std::scoped_lock lock(hub_.mutex_);
    if (request >= kSend) {
      RendezvousHub::Post& post = hub_.posts_[request - kSend];
      post.used = !post.taken;
      return post.taken;
    }
    Receive& receive = receives_[request];
    RendezvousHub::Post* first = nullptr;
    for (RendezvousHub::Post& post : hub_.posts_) {
      if (post.used && !post.taken && post.from == receive.peer && post.to == worker_ &&
          post.tag == receive.tag && (first == nullptr || post.number < first->number)) {
        first = &post;
      }
    }
    if (first == nullptr) {
      return false;
    }
    std::ranges::copy(first->bytes, receive.bytes.begin());
    first->taken = true;
    receive.used = false;
    return true;
  }

  void idle() override { std::this_thread::yield(); }

 private:
  static constexpr RequestId kSend = 1U << 20U;  // requests from here on are sends
  struct Receive {
    bool used = false;
    int peer = 0;
    int tag = 0;
    std::span<std::byte> bytes;
  };

  RendezvousHub& hub_;
  int worker_;
  std::array<Receive, 256> receives_;
};

}  // namespace gangway::comm
