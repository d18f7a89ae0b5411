// SPDX-License-Identifier: MIT
// Workers over MPI: MPI_Isend and MPI_Irecv on the session's communicator, polled with MPI_Test,
// the epoch in the tag. Rank 0 is the coordinator, so worker w is rank w + 1. Lane thread only.
//
// A message travels in segments that MPI sends at once. A longer one it would announce first, and
// on a link that is busy both ways the answer waits behind the data: half of the link's time
// (docs/benchmarks.md).
//
// MPI sends in the order in which it is told. Where tensors travel in the midst of steps, gradients
// therefore wait here and not in MPI: of each worker's a few segments are told at a time.
#pragma once

#include <functional>
#include <vector>

#include "comm/transport/mpi_session.hpp"
#include "comm/transport/transport.hpp"

namespace gangway::comm {

class MpiTransport final : public Transport {
 public:
  /// @param pump  called now and then while the lane waits, to keep control messages moving
  MpiTransport(const MpiSession& session, std::int64_t epoch, std::function<void()> pump);

  [[nodiscard]] int worker() const override { return session_.rank() - 1; }
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
  /// Both are slots that are used again, so that a steady stream of messages allocates nothing.
  struct Segment {
    MPI_Request request = MPI_REQUEST_NULL;
    std::size_t bytes = 0;
    std::size_t next = kNone;         ///< of the same message
    const std::byte* data = nullptr;  ///< of one that is sent
  };
  struct Operation {
    std::size_t segment = kNone;  ///< the first that is not done
    int peer = 0;
    int tag = 0;
    bool receives = false;
    bool may_be_shorter = false;
    bool is_bounded = false;  ///< its segments count in the bound of bulk
    bool active = true;
    std::size_t unsent = kNone;  ///< the first segment that MPI has not been told of
    std::size_t next = kNone;    ///< the message to the same worker that waits behind it
  };
  /// Bulk on its way to one worker.
  struct Bulk {
    std::size_t first = kNone;  ///< request of the first message that MPI does not have whole
    std::size_t last = kNone;
    std::size_t under_way = 0;  ///< bytes that MPI has been told of, and not seen to leave
  };

  [[nodiscard]] RequestId start(const Operation& operation);
  void tell(const Operation& operation, Segment& segment);
  void enqueue(RequestId request);
  /// Tells MPI of as much bulk for `peer` as the bound allows.
  void send_bulk(int peer);
  /// Takes a message out of those that wait for that; does nothing if it is none.
  void withdraw(RequestId request);
  /// A segment of `operation` has left, or never will.
  void left(const Operation& operation, std::size_t bytes);
  [[nodiscard]] Bulk& bulk(int peer) { return bulk_[static_cast<std::size_t>(peer)]; }
  /// Takes a slot for one more segment behind `last` of `operation`.
  std::size_t add_segment(Operation& operation, std::size_t last, std::size_t bytes);
  void drop_segment(Operation& operation);
  /// Gives up what is left of a message that failed.
  void forget(RequestId request);

  const MpiSession& session_;
  std::int64_t epoch_;
  std::function<void()> pump_;
  std::vector<Operation> operations_;  // by request
  std::vector<RequestId> free_;
  std::vector<Segment> segments_;
  std::vector<std::size_t> free_segments_;
  std::size_t window_ = 0;  // of bulk; 0: no bound
  std::vector<Bulk> bulk_;  // by worker
  int idle_polls_ = 0;
};

}  // namespace gangway::comm
