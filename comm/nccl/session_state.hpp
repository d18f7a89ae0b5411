// SPDX-License-Identifier: MIT
// Holds the state shared by an NcclSession's threads: the launching thread, the watchdog and the
// aborting thread. Private to comm/nccl/nccl_session.cpp.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/guarded.hpp"
#include "base/index.hpp"
#include "comm/cuda/cuda_handles.hpp"
#include "comm/nccl/nccl_setup.hpp"
#include "comm/transport/deadline.hpp"

namespace gangway::comm {

using NcclComm = UniqueHandle<ncclComm_t, ncclCommAbort>;

class NcclState {
 public:
  explicit NcclState(const NcclSetup& given) : setup(given) {}

  /// Whether this worker or a silent peer caused a failure.
  enum class Fault { kOwn, kPeers };
  /// Records the first failure and triggers the abort. Any thread; never waits.
  void fail(const std::string& reason, Fault fault = Fault::kOwn);
  /// @throws CommError with the first failure, if any; PeerError if the peer at fault is known.
  void throw_if_failed();
  /// Waits until `result` of a call on the communicator is no longer ncclInProgress.
  /// @throws CommError naming `what`; the communicator is then being aborted.
  void settle(ncclResult_t result, const char* what, std::chrono::milliseconds timeout);
  /// @throws CommError as above, with NCCL's message, unless the call succeeded or is in progress.
  void require(ncclResult_t result, const char* what);
  /// Waits until the communicator is gone. Returns false if it takes longer than `timeout`.
  [[nodiscard]] bool wait_gone(std::chrono::milliseconds timeout);
  /// Records the communicator's end, so that the threads may end.
  void note_end();
  [[nodiscard]] std::string who() const;
  [[nodiscard]] WorkerIndex number_of(int place) const;
  /// The peer in a session of two workers; none in larger ones.
  [[nodiscard]] std::optional<WorkerIndex> other() const;

  /// Locks `calls`; returns false after `patience`. Polls because GCC 12's thread sanitizer misses
  /// a lock with a steady deadline, and a wall clock may be changed meanwhile.
  [[nodiscard]] bool try_lock_calls(std::chrono::milliseconds patience) GANGWAY_TRIES(calls) {
    constexpr std::chrono::microseconds kPause{200};
    const auto end = std::chrono::steady_clock::now() + patience;
    bool is_locked = calls.try_lock();
    while (!is_locked && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(kPause);
      is_locked = calls.try_lock();
    }
    return is_locked;
  }

  /// The bodies of the aborting thread and of the watchdog.
  void abort_when_told();
  void watch_until(const std::stop_token& stop);

  struct Watch {
    CudaEvent event;
    CudaEvent inputs;  ///< if used, the deadline starts after this event
    bool waits_for_inputs = false;
    std::optional<Deadline> deadline;  ///< none: the entry is free
    const char* what = "";
  };

  const NcclSetup setup;
  CudaStream stream;
  CudaStream before;  ///< the stream that waits for the exchanges' inputs
  Mutex calls;        // held during every call on `communicator`
  NcclComm communicator GANGWAY_GUARDED_BY(calls);
  std::atomic<bool> failed = false;
  std::atomic<std::uint64_t> bytes_sent = 0;

  Mutex mutex;
  std::condition_variable_any changed;
  std::string failure GANGWAY_GUARDED_BY(mutex);
  Fault fault GANGWAY_GUARDED_BY(mutex) = Fault::kOwn;
  /// True if there is no communicator, or none to abort yet.
  bool ended GANGWAY_GUARDED_BY(mutex) = false;
  std::vector<Watch> watches GANGWAY_GUARDED_BY(mutex);
  CudaEvent inputs;         ///< of the next watch; launching thread only
  bool has_inputs = false;  ///< whether it was recorded since the last watch

 private:
  [[nodiscard]] NcclComm take_communicator() GANGWAY_NOT_CHECKED;
  void poll_watches();
  void poll_error();
};

}  // namespace gangway::comm
