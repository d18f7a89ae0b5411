// SPDX-License-Identifier: MIT
// What the threads of an NcclSession share: the launching thread, the watchdog and the thread that
// aborts. Private to comm/nccl/nccl_session.cpp.
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
#include "comm/cuda/cuda_handles.hpp"
#include "comm/nccl/nccl_setup.hpp"
#include "comm/transport/deadline.hpp"

namespace gangway::comm {

struct NcclCommTraits {
  using type = ncclComm_t;
  static type null() noexcept { return nullptr; }
  static void release(type communicator) noexcept { (void)ncclCommAbort(communicator); }
};
using NcclComm = UniqueHandle<NcclCommTraits>;

class NcclState {
 public:
  explicit NcclState(const NcclSetup& given) : setup(given) {}

  /// Whether a failure is that a peer did not do its part.
  enum class Fault { kOwn, kPeers };
  /// Notes the first failure and has the communicator aborted. Any thread; never waits.
  void fail(const std::string& reason, Fault fault = Fault::kOwn);
  /// @throws CommError with the first failure, if there is one; PeerError where it is known whose.
  void throw_if_failed();
  /// Waits until `result` of a call on the communicator is no longer "in progress".
  /// @throws CommError naming `what`; the communicator is then being aborted.
  void settle(ncclResult_t result, const char* what, std::chrono::milliseconds timeout);
  /// @throws CommError as above, with NCCL's own words, unless the call succeeded or goes on.
  void require(ncclResult_t result, const char* what);
  /// Waits until the communicator is gone. False: it is not within the deadline.
  [[nodiscard]] bool wait_gone(std::chrono::milliseconds timeout);
  /// The communicator has ended in good order: the threads may end.
  void note_end();
  [[nodiscard]] std::string who() const;
  /// Whom a worker of two accuses that waits in vain, by its number among all.
  [[nodiscard]] std::optional<int> other() const;

  /// Takes `calls`; false: gave up after `patience`. By trying: the thread sanitizer of GCC 12 does
  /// not see a lock with a steady deadline, and a wall clock may be set meanwhile.
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

  /// Bodies of the two threads.
  void abort_when_told();
  void watch_until(const std::stop_token& stop);

  struct Watch {
    CudaEvent event;
    CudaEvent inputs;  ///< the deadline begins behind it, where it counts
    bool waits_for_inputs = false;
    std::optional<Deadline> deadline;  ///< none: free for use
    const char* what = "";
  };

  const NcclSetup setup;
  CudaStream stream;
  CudaStream before;  ///< on which exchanges' inputs are waited for
  Mutex calls;        // of every call on the two handles below
  NcclComm communicator GANGWAY_GUARDED_BY(calls);
  /// With operations of the communicator, which outlives them.
  std::vector<CudaGraphExec> graphs GANGWAY_GUARDED_BY(calls);
  std::atomic<bool> failed = false;
  std::atomic<std::uint64_t> bytes_sent = 0;

  Mutex mutex;
  std::condition_variable_any changed;
  std::string failure GANGWAY_GUARDED_BY(mutex);
  Fault fault GANGWAY_GUARDED_BY(mutex) = Fault::kOwn;
  /// No communicator any more, or none yet to be aborted.
  bool ended GANGWAY_GUARDED_BY(mutex) = false;
  std::vector<Watch> watches GANGWAY_GUARDED_BY(mutex);
  CudaEvent inputs;         ///< of the next watch; the launching thread's
  bool has_inputs = false;  ///< whether it has been recorded since the last one

 private:
  struct Handles {
    std::vector<CudaGraphExec> graphs;
    NcclComm communicator;
  };
  [[nodiscard]] Handles take_handles() GANGWAY_NOT_CHECKED;
  void poll_watches();
  void poll_error();
};

}  // namespace gangway::comm
