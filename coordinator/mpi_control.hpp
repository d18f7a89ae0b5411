// SPDX-License-Identifier: MIT
// The coordinator's half of the control messages: whole messages to and from every worker, with
// non-blocking MPI operations that are polled, on one communicator made at the start. Owned by
// main(), used on its one thread.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>

namespace gangway::coordinator {

struct ReceivedMessage {
  int rank = 0;
  std::string bytes;
};

class MpiControl {
 public:
  /// MPI_Init, then the duplicate of MPI_COMM_WORLD that the workers make too (a collective call).
  /// @throws EnvironmentError when MPI cannot start.
  MpiControl();
  ~MpiControl();
  MpiControl(const MpiControl&) = delete;
  MpiControl& operator=(const MpiControl&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  /// Queues one message. Never waits; a dead receiver is not an error.
  void send(int rank, std::string bytes);
  /// Makes progress; the next whole message, if one has arrived.
  [[nodiscard]] std::optional<ReceivedMessage> poll();
  /// Everything sent has left.
  [[nodiscard]] bool idle() const { return sends_.empty(); }

  /// MPI_Finalize. Only when every worker has said Goodbye: it waits for all, and hangs after a
  /// loss. It also hangs when mpirun is being ended, so the process then ends with `exit_code`
  /// after a few seconds.
  void finalize(int exit_code);

 private:
  struct Operation;
  struct Communicator;

  void start_receives();
  void finish_sends();

  std::unique_ptr<Communicator> communicator_;
  std::list<std::unique_ptr<Operation>> sends_;
  std::list<std::unique_ptr<Operation>> receives_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace gangway::coordinator
