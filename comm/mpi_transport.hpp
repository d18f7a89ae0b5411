// SPDX-License-Identifier: MIT
// Workers over MPI: MPI_Isend and MPI_Irecv on the session's communicator, polled with MPI_Test,
// the epoch in the tag. Rank 0 is the coordinator, so worker w is rank w + 1. Lane thread only.
#pragma once

#include <functional>
#include <vector>

#include "comm/mpi_session.hpp"
#include "comm/transport.hpp"

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
  [[nodiscard]] bool done(RequestId request) override;
  void idle() override;

 private:
  /// Slots are used again, so that a steady stream of messages allocates nothing.
  struct Operation {
    MPI_Request request = MPI_REQUEST_NULL;
    bool active = false;
    int peer = 0;
    std::size_t expected_bytes = 0;  ///< of a receive; sends expect nothing
    bool receives = false;
  };

  const MpiSession& session_;
  std::int64_t epoch_;
  std::function<void()> pump_;
  [[nodiscard]] RequestId start(const Operation& operation);

  std::vector<Operation> operations_;  // by request
  std::vector<RequestId> free_;
  int idle_polls_ = 0;
};

}  // namespace gangway::comm
