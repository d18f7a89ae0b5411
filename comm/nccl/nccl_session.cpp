// SPDX-License-Identifier: MIT
#include "comm/nccl/nccl_session.hpp"

#include <exception>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "comm/nccl/check_nccl.hpp"
#include "comm/nccl/session_state.hpp"

namespace gangway::comm {
namespace {

ncclConfig_t config_of(const NcclSetup& setup) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = setup.calls == NcclSession::Calls::kBlocking ? 1 : 0;
  config.minCTAs = 1;
  config.maxCTAs = setup.max_ctas;
  return config;
}

}  // namespace

/// The session's threads. If NCCL does not return, the aborting thread is detached; it then owns
/// the state alone, and the process is about to end.
class NcclSession::Threads {
 public:
  explicit Threads(const std::shared_ptr<NcclState>& state)
      : aborter_([state] { state->abort_when_told(); }),
        watchdog_([state](const std::stop_token& stop) { state->watch_until(stop); }) {}
  ~Threads() {
    if (aborter_.joinable()) {
      aborter_.detach();
    }
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  /// @pre the communicator is gone
  void join() {
    if (aborter_.joinable()) {
      aborter_.join();
    }
  }

 private:
  std::thread aborter_;
  std::jthread watchdog_;
};

NcclSession::NcclSession(const NcclSetup& setup) : state_(std::make_shared<NcclState>(setup)) {
  check(cudaSetDevice(setup.device), "choosing the device");
  state_->stream = make_priority_stream();
  state_->before = make_priority_stream();
  threads_ = std::make_unique<Threads>(state_);
  try {
    ncclConfig_t config = config_of(setup);
    ncclComm_t communicator = nullptr;
    ncclResult_t result = ncclSuccess;
    {
      const MutexLock lock(state_->calls);
      result =
          ncclCommInitRankConfig(&communicator, setup.num_workers, setup.id, setup.worker, &config);
      state_->communicator.reset(communicator);
    }
    state_->settle(result, "meeting the other workers over NCCL", setup.meeting_timeout);
  } catch (const CommError&) {
    end(state_->setup.abort_timeout);
    throw;
  }
}

NcclSession::~NcclSession() {
  state_->fail(fmt::format("{}: the NCCL session was dropped", state_->who()));
  end(state_->setup.abort_timeout);
}

bool NcclSession::end(std::chrono::milliseconds timeout) noexcept {
  const bool gone = state_->wait_gone(timeout);
  if (gone) {
    threads_->join();
  }
  return gone;
}

int NcclSession::worker() const { return state_->setup.worker; }
int NcclSession::num_workers() const { return state_->setup.num_workers; }
int NcclSession::device() const { return state_->setup.device; }
cudaStream_t NcclSession::stream() const { return state_->stream.get(); }

void NcclSession::group(const char* what, const std::function<void(ncclComm_t)>& enqueue) {
  state_->throw_if_failed();
  ncclResult_t result = ncclSuccess;
  {
    const MutexLock lock(state_->calls);
    if (!state_->communicator) {
      throw InvariantError(fmt::format("{}: {} after the end of the session; please report this",
                                       state_->who(), what));
    }
    state_->require(ncclGroupStart(), what);
    try {
      enqueue(state_->communicator.get());
    } catch (const std::exception& failure) {
      (void)ncclGroupEnd();  // NCCL counts group starts per thread
      state_->fail(fmt::format("{}: {}: {}", state_->who(), what, failure.what()));
      throw;
    }
    result = ncclGroupEnd();
  }
  state_->settle(result, what, state_->setup.timeout);
}

void NcclSession::count_sent(std::size_t bytes) {
  state_->bytes_sent.fetch_add(bytes, std::memory_order_relaxed);
}

std::uint64_t NcclSession::bytes_sent() const {
  return state_->bytes_sent.load(std::memory_order_relaxed);
}

void NcclSession::note_inputs(cudaEvent_t ready) {
  constexpr const char* kWhat = "an exchange's inputs";
  if (is_capturing(state_->stream.get())) {
    return;
  }
  if (!state_->inputs) {
    state_->inputs = make_event();
  }
  // On a separate stream, because on the session's an earlier exchange may wait for a lost peer.
  check(cudaStreamWaitEvent(state_->before.get(), ready, 0), kWhat);
  check(cudaEventRecord(state_->inputs.get(), state_->before.get()), kWhat);
  state_->has_inputs = true;
}

void NcclSession::watch(cudaStream_t stream, const char* what) {
  if (is_capturing(stream)) {
    return;
  }
  const MutexLock lock(state_->mutex);
  auto free = state_->watches.begin();
  while (free != state_->watches.end() && free->deadline) {
    ++free;
  }
  if (free == state_->watches.end()) {
    free = state_->watches.insert(
        free, {.event = make_event(), .inputs = {}, .deadline = {}, .what = what});
  }
  check(cudaEventRecord(free->event.get(), stream), what);
  free->what = what;
  free->waits_for_inputs = std::exchange(state_->has_inputs, false);
  if (free->waits_for_inputs) {
    std::swap(free->inputs, state_->inputs);
  }
  free->deadline.emplace(state_->setup.timeout);
}

void NcclSession::throw_if_failed() const { state_->throw_if_failed(); }

bool NcclSession::drain() noexcept {
  if (state_->failed && !state_->wait_gone(state_->setup.abort_timeout)) {
    return false;
  }
  try {
    watch(state_->stream.get(), "its earlier work");  // peers may never complete it
  } catch (const std::exception&) {
    return false;
  }
  return cudaStreamSynchronize(state_->stream.get()) == cudaSuccess;
}

void NcclSession::abandon() noexcept {
  state_->fail(fmt::format("{}: work that other ranks need was given up", state_->who()));
}

void* NcclSession::register_memory(void* memory, std::size_t bytes) {
  state_->throw_if_failed();
  const MutexLock lock(state_->calls);
  void* registration = nullptr;
  if (state_->communicator) {
    state_->require(ncclCommRegister(state_->communicator.get(), memory, bytes, &registration),
                    "registering memory with NCCL");
  }
  return registration;
}

void NcclSession::deregister_memory(void* registration) noexcept {
  if (!state_->try_lock_calls(state_->setup.abort_timeout)) {
    return;
  }
  const MutexLock lock(state_->calls, std::adopt_lock);
  if (registration != nullptr && state_->communicator) {
    (void)ncclCommDeregister(state_->communicator.get(), registration);
  }
}

void NcclSession::finalize() {
  state_->throw_if_failed();
  ncclResult_t result = ncclSuccess;
  {
    const MutexLock lock(state_->calls);
    if (!state_->communicator) {
      return;
    }
    result = ncclCommFinalize(state_->communicator.get());
  }
  state_->settle(result, "ending NCCL together with the other workers", state_->setup.timeout);
  {
    const MutexLock lock(state_->calls);
    check(ncclCommDestroy(state_->communicator.release()), "ending NCCL");
  }
  state_->note_end();
}

void NcclSession::abort(const std::string& reason) {
  state_->fail(fmt::format("{}: {}", state_->who(), reason));
  if (!end(state_->setup.abort_timeout)) {
    throw CommError(
        fmt::format("{}: NCCL does not let go after {} ms; end the process, the GPU's driver "
                    "cleans up behind it",
                    state_->who(), state_->setup.abort_timeout.count()));
  }
}

}  // namespace gangway::comm
