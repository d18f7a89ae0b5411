// SPDX-License-Identifier: MIT
// Sends control messages to and from rank 0 over MPI. Any thread queues and takes them; only
// `pump`, on the lane, calls MPI.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>

#include "base/guarded.hpp"
#include "comm/transport/mpi_session.hpp"
#include "worker/link/control_channel.hpp"

namespace gangway::worker {

class MpiControlChannel final : public ControlChannel {
 public:
  explicit MpiControlChannel(const comm::MpiSession& session) : session_(session) {}

  void send(std::string bytes) override;
  [[nodiscard]] std::optional<std::string> try_receive() override;
  [[nodiscard]] bool wait(std::chrono::milliseconds limit) override;
  [[nodiscard]] bool flush(std::chrono::milliseconds limit) override;

  /// Moves messages between the queues and MPI. Lane thread.
  void pump();
  /// Sets the callback by which `send` makes the lane pump soon. Set before the first send.
  void on_send(std::function<void()> wake) { wake_ = std::move(wake); }

 private:
  struct Outgoing {
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  void start_queued();
  void reap_sent();
  void receive_waiting();

  const comm::MpiSession& session_;
  std::function<void()> wake_;
  std::list<Outgoing> in_flight_;  // lane thread only
  Mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> outbox_ GANGWAY_GUARDED_BY(mutex_);
  std::deque<std::string> inbox_ GANGWAY_GUARDED_BY(mutex_);
  std::size_t unsent_ GANGWAY_GUARDED_BY(mutex_) = 0;  // queued or in flight
};

}  // namespace gangway::worker
