// SPDX-License-Identifier: MIT
#include "comm/nccl/session_state.hpp"

#include <thread>
#include <utility>

#include <fmt/format.h>

#include "comm/transport/peer_error.hpp"

namespace gangway::comm {
namespace {

/// The watchdog's period: a fraction of any useful deadline, and too long to cost noticeable time.
constexpr std::chrono::milliseconds kWatchPeriod{20};
/// How long the aborting thread waits for the launching thread to leave NCCL. After that it aborts
/// anyway, because only an abort frees a caller that hangs.
constexpr std::chrono::milliseconds kPatience{1000};

}  // namespace

std::string NcclState::who() const {
  return fmt::format("rank {}, ", rank_of(number_of(setup.worker))) +
         fmt::format(fmt::runtime(setup.group.empty() ? "of {} workers" : "in a group of {}"),
                     setup.num_workers);
}

WorkerIndex NcclState::number_of(int place) const {
  return WorkerIndex(setup.group.empty() ? place : setup.group[static_cast<std::size_t>(place)]);
}

std::optional<WorkerIndex> NcclState::other() const {
  if (setup.num_workers != 2) {
    return std::nullopt;
  }
  return number_of(1 - setup.worker);
}

void NcclState::fail(const std::string& reason, Fault given) {
  const MutexLock lock(mutex);
  if (failure.empty()) {
    failure = reason;
    fault = given;
  }
  failed = true;
  changed.notify_all();
}

void NcclState::throw_if_failed() {
  if (failed) {
    const MutexLock lock(mutex);
    if (const auto accused = other(); accused && fault == Fault::kPeers) {
      throw PeerError(*accused, failure);
    }
    throw CommError(failure);
  }
}

void NcclState::require(ncclResult_t result, const char* what) {
  if (result == ncclSuccess || result == ncclInProgress) {
    return;
  }
  fail(fmt::format(
      "{}: {}: {} ({}); the job resumes from its last checkpoint, NCCL_DEBUG=WARN says more", who(),
      what, ncclGetErrorString(result), ncclGetLastError(nullptr)));
  throw_if_failed();
}

void NcclState::settle(ncclResult_t result, const char* what, std::chrono::milliseconds timeout) {
  const Deadline deadline(timeout);
  require(result, what);
  while (result == ncclInProgress) {
    throw_if_failed();
    if (deadline.expired()) {
      fail(fmt::format("{}: {} not done after {:.0f} s; is a worker stopped? "
                       "(layout.timeout_seconds is the deadline once they have met)",
                       who(), what, deadline.allowed_seconds()),
           Fault::kPeers);
      throw_if_failed();
    }
    std::this_thread::yield();
    const MutexLock lock(calls);
    if (!communicator) {
      continue;  // aborted in the meantime; `failure` has the reason
    }
    require(ncclCommGetAsyncError(communicator.get(), &result), what);
    require(result, what);
  }
}

bool NcclState::wait_gone(std::chrono::milliseconds timeout) {
  MutexLock lock(mutex);
  return changed.wait_for(lock, timeout, [this]() GANGWAY_REQUIRES(mutex) { return ended; });
}

void NcclState::note_end() {
  const MutexLock lock(mutex);
  ended = true;
  changed.notify_all();
}

NcclComm NcclState::take_communicator() {
  // Takes the communicator without the lock after kPatience: the launching thread hangs inside
  // NCCL.
  const bool is_locked = try_lock_calls(kPatience);
  NcclComm taken = std::move(communicator);
  if (is_locked) {
    calls.unlock();
  }
  return taken;
}

void NcclState::abort_when_told() {
  (void)cudaSetDevice(setup.device);
  {
    MutexLock lock(mutex);
    changed.wait(lock, [this]() GANGWAY_REQUIRES(mutex) { return ended || failed; });
    if (ended) {
      return;
    }
  }
  take_communicator().reset();  // ncclCommAbort may block; no other thread waits for it
  note_end();
}

void NcclState::watch_until(const std::stop_token& stop) {
  (void)cudaSetDevice(setup.device);
  // cudaEventQuery is forbidden while any thread captures, unless this thread's mode is relaxed.
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  (void)cudaThreadExchangeStreamCaptureMode(&mode);
  while (!stop.stop_requested() && !failed) {
    poll_watches();
    poll_error();
    MutexLock lock(mutex);
    (void)changed.wait_for(lock, stop, kWatchPeriod,
                           [this]() GANGWAY_REQUIRES(mutex) { return ended || failed; });
    if (ended) {
      return;
    }
  }
}

void NcclState::poll_watches() {
  std::string reason;
  Fault found = Fault::kOwn;
  {
    const MutexLock lock(mutex);
    for (Watch& watch : watches) {
      if (!watch.deadline) {
        continue;
      }
      if (watch.waits_for_inputs && cudaEventQuery(watch.inputs.get()) == cudaErrorNotReady) {
        continue;
      }
      if (std::exchange(watch.waits_for_inputs, false)) {
        watch.deadline.emplace(setup.timeout);
      }
      const cudaError_t state = cudaEventQuery(watch.event.get());
      if (state == cudaSuccess) {
        watch.deadline.reset();
      } else if (state != cudaErrorNotReady) {
        reason =
            fmt::format("{}: {} failed on the GPU: {}; the job resumes from its last checkpoint",
                        who(), watch.what, cudaGetErrorString(state));
      } else if (watch.deadline->expired()) {
        reason = fmt::format(
            "{}: {} not done after {:.0f} s; is a worker stopped? "
            "(layout.timeout_seconds is the deadline)",
            who(), watch.what, watch.deadline->allowed_seconds());
        found = Fault::kPeers;
      }
    }
  }
  if (!reason.empty()) {
    fail(reason, found);
  }
}

void NcclState::poll_error() {
  if (!calls.try_lock()) {
    return;  // the launching thread is in a call and checks its result
  }
  const MutexLock lock(calls, std::adopt_lock);
  if (!communicator) {
    return;
  }
  ncclResult_t result = ncclSuccess;
  const ncclResult_t asked = ncclCommGetAsyncError(communicator.get(), &result);
  const ncclResult_t worst = asked != ncclSuccess ? asked : result;
  if (worst != ncclSuccess && worst != ncclInProgress) {
    fail(fmt::format(
             "{}: NCCL: {} ({}); was a worker lost? The job resumes from its last checkpoint",
             who(), ncclGetErrorString(worst), ncclGetLastError(nullptr)),
         worst == ncclRemoteError ? Fault::kPeers : Fault::kOwn);
  }
}

}  // namespace gangway::comm
