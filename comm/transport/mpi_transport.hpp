// SPDX-License-Identifier: MIT
// Connects workers over MPI: MPI_Isend and MPI_Irecv on the session's communicator, polled with
// MPI_Test, the epoch in the tag. Rank 0 is the coordinator; worker w is rank w + 1. Lane thread.
//
// Splits messages into segments that MPI sends at once. A longer message MPI announces first; on a
// busy link the reply waits behind data, which wastes half of the link (docs/benchmarks.md).
//
// MPI sends in call order. So that tensors overtake gradients, bound_bulk keeps gradients queued
// here and gives MPI only a few segments per worker at a time.
#pragma once

#include <functional>
#include <vector>

#include "comm/transport/mpi_session.hpp"
#include "comm/transport/transport.hpp"

namespace gangway::comm {

class MpiTransport final : public Transport {
 public:
  /// @param pump  called now and then while the lane waits, to handle control messages
  MpiTransport(const MpiSession& session, std::int64_t epoch, std::function<void()> pump);

  [[nodiscard]] int worker() const override { return worker_of(session_.rank()).value(); }
  [[nodiscard]] int num_workers() const override { return session_.size() - 1; }
  [[nodiscard]] std::int64_t epoch() const override { return epoch_; }
  [[nodiscard]] RequestId start_send(int peer, MessageTag tag,
                                     std::span<const std::byte> bytes) override;
  [[nodiscard]] RequestId start_receive(int peer, MessageTag tag,
                                        std::span<std::byte> bytes) override;
  [[nodiscard]] RequestId start_receive_up_to(int peer, MessageTag tag,
                                              std::span<std::byte> bytes) override;
  [[nodiscard]] bool done(RequestId request) override;
  void idle() override;
  void bound_bulk(std::size_t window_bytes) override { window_ = window_bytes; }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  /// Slots that are reused, so that a steady stream of messages allocates nothing.
  struct Segment {
    MPI_Request request = MPI_REQUEST_NULL;
    std::size_t bytes = 0;
    std::size_t next = kNone;         ///< the message's next segment
    const std::byte* data = nullptr;  ///< of a send
  };
  struct Operation {
    std::size_t segment = kNone;  ///< the first segment that is not done
    int peer = 0;
    int tag = 0;
    bool receives = false;
    bool may_be_shorter = false;
    bool is_bounded = false;  ///< its segments count against the bulk window
    bool active = true;
    std::size_t unsent = kNone;  ///< first segment not given to MPI
    std::size_t next = kNone;    ///< the next message queued for the same worker
  };
  /// The queued bulk messages of one worker.
  struct Bulk {
    std::size_t first = kNone;  ///< first message with segments not given to MPI
    std::size_t last = kNone;
    std::size_t under_way = 0;  ///< bytes given to MPI and not known to have left
  };

  [[nodiscard]] RequestId start(const Operation& operation);
  void tell(const Operation& operation, Segment& segment);
  void enqueue(RequestId request);
  /// Gives MPI as much of `peer`'s bulk as the window allows.
  void send_bulk(int peer);
  /// Removes a message from its bulk queue; no effect if it is not queued.
  void withdraw(RequestId request);
  /// Releases the window's share of a segment that is sent or given up.
  void left(const Operation& operation, std::size_t bytes);
  [[nodiscard]] Bulk& bulk(int peer) { return bulk_[static_cast<std::size_t>(peer)]; }
  /// Adds a segment slot behind `last` of `operation`.
  std::size_t add_segment(Operation& operation, std::size_t last, std::size_t bytes);
  void drop_segment(Operation& operation);
  /// Releases the rest of a message that failed.
  void forget(RequestId request);

  const MpiSession& session_;
  std::int64_t epoch_;
  std::function<void()> pump_;
  std::vector<Operation> operations_;  // by request
  std::vector<RequestId> free_;
  std::vector<Segment> segments_;
  std::vector<std::size_t> free_segments_;
  std::size_t window_ = 0;  // bytes of bulk; 0: no bound
  std::vector<Bulk> bulk_;  // by worker
  int idle_polls_ = 0;
};

}  // namespace gangway::comm
