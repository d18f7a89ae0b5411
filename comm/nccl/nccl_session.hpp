// SPDX-License-Identifier: MIT
// Holds one NCCL communicator for one epoch, for all networks that its workers share. One thread
// launches all operations in an order fixed by data, because several communicators on one GPU can
// deadlock (NVIDIA/nccl issues 195, 1174).
//
// A watchdog thread checks NCCL's asynchronous errors and the deadlines of launched work. Another
// thread calls ncclCommAbort because it may block (issues 549, 829, 863). After a failure each call
// throws CommError; the next epoch makes a new session.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <nccl.h>

#include "comm/cuda/cuda_handles.hpp"
#include "comm/nccl/nccl_setup.hpp"

namespace gangway::comm {

class NcclState;

class NcclSession {
 public:
  using Calls = NcclCalls;
  /// Initialises the communicator with all peers. Makes `device` current on this thread.
  /// @throws CommError if a peer does not come in time; EnvironmentError if NCCL cannot start.
  explicit NcclSession(const NcclSetup& setup);
  /// Aborts unless finalised; takes at most Setup::abort_timeout.
  ~NcclSession();
  NcclSession(const NcclSession&) = delete;
  NcclSession& operator=(const NcclSession&) = delete;

  [[nodiscard]] int worker() const;
  [[nodiscard]] int num_workers() const;
  [[nodiscard]] int device() const;
  /// The session's stream, used by all launches. It has the device's highest priority.
  [[nodiscard]] cudaStream_t stream() const;

  /// Runs `enqueue` between ncclGroupStart and ncclGroupEnd. Returns when the group is enqueued on
  /// its streams. The launching thread only.
  /// @throws CommError naming `what` if the communicator failed or the launch passes the deadline.
  void group(const char* what, const std::function<void(ncclComm_t)>& enqueue);
  /// Adds the bytes of a send to another worker.
  void count_sent(std::size_t bytes);
  /// Payload bytes of all sends launched so far. Any thread.
  [[nodiscard]] std::uint64_t bytes_sent() const;
  /// Makes the watchdog expect that all work now on `stream` ends within the deadline. No effect
  /// while the stream is captured. The launching thread only; `what` is a literal.
  void watch(cudaStream_t stream, const char* what);
  /// Starts the deadline of the next watch() only after `ready`, because a graph may first compute
  /// a whole phase.
  void note_inputs(cudaEvent_t ready);

  /// @throws CommError with the failure that the watchdog found, if any. Any thread.
  void throw_if_failed() const;

  /// Waits until the GPU has finished the session's stream, so that its memory can be freed.
  /// Returns false if the session failed and NCCL does not stop within Setup::abort_timeout.
  bool drain() noexcept;
  /// Fails the session because this worker stops launching, and peers or its own stream may wait
  /// for the rest. Any thread.
  void abandon() noexcept;

  /// Registers device memory for zero-copy transfers; all workers register alike. Returns null if
  /// NCCL has no use for it.
  [[nodiscard]] void* register_memory(void* memory, std::size_t bytes);
  void deregister_memory(void* registration) noexcept;

  /// Ends the session in order: all workers call it, no operation is in flight.
  /// @throws CommError
  void finalize();
  /// Stops all operations in flight on this worker, and the GPU's kernels. Any thread, any number
  /// of times; returns when the communicator is gone.
  /// @throws CommError if it is not gone within Setup::abort_timeout: the process must end.
  void abort(const std::string& reason);

 private:
  class Threads;
  /// Waits for the communicator's end. Returns false if it takes longer than `timeout`.
  bool end(std::chrono::milliseconds timeout) noexcept;

  std::shared_ptr<NcclState>
      state_;  // shared with both threads, as aborting may outlive the session
  std::unique_ptr<Threads> threads_;
};

}  // namespace gangway::comm
