// SPDX-License-Identifier: MIT
// A sub-communicator: a `Transport` over a subset of the workers, numbered from 0. Lane thread
// only.
#pragma once

#include <utility>
#include <vector>

#include "comm/transport/transport.hpp"

namespace gangway::comm {

class GroupTransport final : public Transport {
 public:
  /// @param inner    of all workers; outlives this object
  /// @param workers  indices in `inner`, ascending, including this worker
  GroupTransport(Transport& inner, std::vector<int> workers);

  [[nodiscard]] int worker() const override { return own_; }
  [[nodiscard]] int num_workers() const override { return static_cast<int>(workers_.size()); }
  [[nodiscard]] std::int64_t epoch() const override { return inner_.epoch(); }
  [[nodiscard]] WorkerIndex number_of(int worker) const override {
    return inner_.number_of(workers_[static_cast<std::size_t>(worker)]);
  }
  [[nodiscard]] RequestId start_send(int peer, MessageTag tag,
                                     std::span<const std::byte> bytes) override {
    return inner_.start_send(workers_[static_cast<std::size_t>(peer)], tag, bytes);
  }
  [[nodiscard]] RequestId start_receive(int peer, MessageTag tag,
                                        std::span<std::byte> bytes) override {
    return inner_.start_receive(workers_[static_cast<std::size_t>(peer)], tag, bytes);
  }
  [[nodiscard]] RequestId start_receive_up_to(int peer, MessageTag tag,
                                              std::span<std::byte> bytes) override {
    return inner_.start_receive_up_to(workers_[static_cast<std::size_t>(peer)], tag, bytes);
  }
  [[nodiscard]] bool done(RequestId request) override { return inner_.done(request); }
  void idle() override { inner_.idle(); }
  void bound_bulk(std::size_t window_bytes) override { inner_.bound_bulk(window_bytes); }

 private:
  Transport& inner_;
  std::vector<int> workers_;
  int own_;
};

}  // namespace gangway::comm
