// SPDX-License-Identifier: MIT
// One NCCL communicator for one epoch of the membership, for all networks that its workers hold
// together: operations are launched by one thread in an order that data decides (several
// communicators on one GPU can lock each other up: NVIDIA/nccl issues 195, 1174).
//
// Failure: a watchdog thread reads NCCL's asynchronous errors and the deadlines of what is in
// flight. It never aborts by itself, as ncclCommAbort may block: it signals, and a thread of its
// own aborts (issues 549, 829, 863). After that every call throws CommError; the next epoch makes a
// new session.
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
  using Setup = NcclSetup;
  /// Initialises the communicator together with all others. Makes `device` current on this thread.
  /// @throws CommError when a peer does not come in time; EnvironmentError when NCCL cannot start.
  explicit NcclSession(const Setup& setup);
  /// Aborts unless finalised; never longer than Setup::abort_timeout.
  ~NcclSession();
  NcclSession(const NcclSession&) = delete;
  NcclSession& operator=(const NcclSession&) = delete;

  [[nodiscard]] int worker() const;
  [[nodiscard]] int num_workers() const;
  [[nodiscard]] int device() const;
  /// The stream of all launches; the session's. It has the device's highest priority.
  [[nodiscard]] cudaStream_t stream() const;

  /// Runs `enqueue` between ncclGroupStart and ncclGroupEnd and returns when the group lies on its
  /// streams. The launching thread only.
  /// @throws CommError naming `what` when the communicator failed or the launch passes the
  /// deadline.
  void group(const char* what, const std::function<void(ncclComm_t)>& enqueue);
  /// Call it with the bytes of each send to another worker.
  void count_sent(std::size_t bytes);
  /// Payload of all sends that were launched so far. Any thread.
  [[nodiscard]] std::uint64_t bytes_sent() const;
  /// The watchdog expects all that lies on `stream` by now to end within the deadline; nothing
  /// while the stream is being captured. The launching thread only; `what` is a literal.
  void watch(cudaStream_t stream, const char* what);
  /// The deadline of the next watch() begins behind `ready`, before which a graph may have a whole
  /// phase to compute.
  void note_inputs(cudaEvent_t ready);

  /// Takes over a graph captured from operations of this session and makes it ready for `replay`;
  /// returns its number. NCCL ends no communicator while such a graph lives, so that it may have no
  /// other owner: it ends with the communicator, whichever way that goes. The launching thread
  /// only.
  [[nodiscard]] std::size_t keep(CudaGraph graph);
  /// Launches a kept graph on `stream` and watches it; `what` is a literal. The launching thread
  /// only. @throws CommError when the communicator failed.
  void replay(std::size_t graph, cudaStream_t stream, const char* what);

  /// @throws CommError with the failure that the watchdog found, if any. Any thread.
  void throw_if_failed() const;

  /// Waits until nothing of the session's stream is left on the GPU. False: it failed, and NCCL
  /// does not let go within Setup::abort_timeout. For those who free memory that it works on.
  bool drain() noexcept;
  /// This worker launches nothing more, of which others, or its own stream, may wait for some. Any
  /// thread.
  void abandon() noexcept;

  /// Registers device memory for zero-copy transfers; all workers register alike. Null where NCCL
  /// has no use for it.
  [[nodiscard]] void* register_memory(void* memory, std::size_t bytes);
  void deregister_memory(void* registration) noexcept;

  /// Orderly end: all workers call it, nothing is in flight; kept graphs go first. @throws
  /// CommError
  void finalize();
  /// Stops everything in flight on this worker; the GPU's kernels end. Any thread, any number of
  /// times; returns when the communicator is gone.
  /// @throws CommError when it is not gone within Setup::abort_timeout: the process must end.
  void abort(const std::string& reason);

 private:
  class Threads;
  /// Waits for the end of the communicator; false: not within `timeout`.
  bool end(std::chrono::milliseconds timeout) noexcept;

  std::shared_ptr<NcclState>
      state_;  // shared with its two threads: aborting may outlive the session
  std::unique_ptr<Threads> threads_;
};

}  // namespace gangway::comm
