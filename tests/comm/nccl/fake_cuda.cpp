// SPDX-License-Identifier: MIT
#include "tests/comm/nccl/fake_cuda.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>

#include "tests/comm/nccl/fake_graph.hpp"

namespace {

std::atomic<std::uint64_t> g_dawdle_seed = 0;

void dawdle_a_little() {
  const std::uint64_t seed = g_dawdle_seed.load();
  if (seed == 0) {
    return;
  }
  static std::atomic<std::uint64_t> drawn = 0;
  std::uint64_t key = seed * 0x9E3779B97F4A7C15ULL + drawn.fetch_add(1);
  key = (key ^ (key >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  // Up to 32 us. Only one wait in 16 yields the core, because that may take long on a busy machine.
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds((key >> 58U) * 500);
  while (std::chrono::steady_clock::now() < end) {
  }
  if ((key & 15U) == 0) {
    std::this_thread::yield();
  }
}

}  // namespace

using gangway::fake::Capture;
using gangway::fake::EventState;

struct CUevent_st {
  std::shared_ptr<EventState> state = std::make_shared<EventState>();
};

struct CUgraph_st {
  std::vector<std::function<void()>> work;
  std::vector<std::shared_ptr<EventState>> records;  // of events whose records are nodes
};
struct CUgraphExec_st {
  std::shared_ptr<const CUgraph_st> graph;
};

namespace {

/// The streams that one thread has made. The thread plays a worker, so they stand for a device.
struct Device {
  std::mutex mutex;  // guards the streams
  std::vector<cudaStream_t> streams;
};
thread_local std::shared_ptr<Device> t_device = std::make_shared<Device>();

}  // namespace

struct CUstream_st {
  CUstream_st() : thread([this](const std::stop_token& stop) { run(stop); }) {}

  void push(std::function<void()> work) {
    const std::scoped_lock lock(mutex);
    if (capture) {
      const std::scoped_lock capture_lock(capture->mutex);
      capture->graph.add(this, std::move(work));
      return;
    }
    queue.push_back(std::move(work));
    changed.notify_all();
  }
  void wait_idle() {
    if (lags) {
      const std::scoped_lock driving(driver);
      while (run_one()) {
      }
      return;
    }
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return queue.empty() && !busy; });
  }
  /// Runs the next work of a lagging stream on this thread. False: another thread runs it, or there
  /// is none.
  bool drive() {
    const std::unique_lock driving(driver, std::try_to_lock);
    return driving.owns_lock() && run_one();
  }

  std::atomic<bool> lags = false;
  const std::shared_ptr<Device> device = t_device;
  std::shared_ptr<Capture> capture;  // guarded by `mutex`
  std::mutex mutex;                  // guards the next two members too

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex);
    while (changed.wait(lock, stop, [this] { return !queue.empty() && !lags; })) {
      lock.unlock();
      (void)run_one();
      lock.lock();
    }
  }
  bool run_one() {
    std::unique_lock lock(mutex);
    if (queue.empty()) {
      return false;
    }
    {
      const std::function<void()> work = std::move(queue.front());
      queue.pop_front();
      busy = true;
      lock.unlock();
      if (!lags) {
        dawdle_a_little();
      }
      work();
    }
    lock.lock();
    busy = false;
    changed.notify_all();
    return true;
  }

  std::deque<std::function<void()>> queue;
  bool busy = false;
  std::condition_variable_any changed;
  std::mutex driver;  // held by the thread that runs a lagging stream's work
  std::jthread thread;
};

namespace gangway::fake {

std::uint64_t EventState::record_on(cudaStream_t stream) {
  late = stream->lags ? stream : nullptr;
  return ++recorded;
}

void EventState::await(std::uint64_t record) {
  const auto is_reached = [&] { return reached >= record; };
  std::unique_lock lock(mutex);
  while (late != nullptr && !is_reached()) {
    const cudaStream_t driven = late;
    lock.unlock();
    const bool went_on = driven->drive();
    lock.lock();
    if (!went_on) {  // the driving thread may wait for our event
      (void)changed.wait_for(lock, std::chrono::microseconds(100), is_reached);
    }
  }
  changed.wait(lock, is_reached);
}

}  // namespace gangway::fake

namespace {

std::atomic<int> g_records = 0;
std::atomic<bool> g_miscomputes = false;

}  // namespace

namespace gangway::fake {

void enqueue(cudaStream_t stream, std::function<void()> work) { stream->push(std::move(work)); }
void lag(cudaStream_t stream) { stream->lags = true; }
void catch_up(cudaStream_t stream) { stream->wait_idle(); }
void wait_for_device() {  // only this thread makes and ends its streams
  for (const cudaStream_t stream : t_device->streams) {
    stream->wait_idle();
  }
}
void dawdle(std::uint64_t seed) { g_dawdle_seed = seed; }
int num_records() { return g_records; }
void miscompute(bool does) { g_miscomputes = does; }
bool miscomputes() { return g_miscomputes; }
bool is_capturing(cudaStream_t stream) {
  const std::scoped_lock lock(stream->mutex);
  return stream->capture != nullptr;
}

}  // namespace gangway::fake

// NOLINTBEGIN(readability-identifier-naming): the runtime's names
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int /*flags*/,
                                         int /*priority*/) {
  *stream = new CUstream_st;
  const std::scoped_lock lock(t_device->mutex);
  t_device->streams.push_back(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  stream->wait_idle();
  {
    const std::scoped_lock lock(stream->device->mutex);
    std::erase(stream->device->streams, stream);
  }
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (stream != nullptr) {
    stream->wait_idle();
  }
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = gangway::fake::is_capturing(stream) ? cudaStreamCaptureStatusActive
                                                : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode /*mode*/) {
  const std::scoped_lock lock(stream->mutex);
  stream->capture = std::make_shared<Capture>();
  stream->capture->streams.push_back(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  std::shared_ptr<Capture> capture;
  {
    const std::scoped_lock lock(stream->mutex);
    capture = stream->capture;
  }
  if (!capture) {
    return cudaErrorIllegalState;
  }
  capture->is_over = true;
  for (const cudaStream_t member : capture->streams) {
    const std::scoped_lock lock(member->mutex);
    member->capture.reset();
  }
  std::vector<std::function<void()>> work = capture->graph.take_in_an_order();
  if (!capture->graph.is_joined_by(stream)) {
    return cudaErrorStreamCaptureUnjoined;
  }
  *graph = new CUgraph_st{std::move(work), capture->records};
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 unsigned long long /*flags*/) {
  *exec = new CUgraphExec_st{std::make_shared<const CUgraph_st>(*graph)};
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  for (const std::shared_ptr<EventState>& event : exec->graph->records) {
    const std::scoped_lock lock(event->mutex);
    event->launched.push_back(event->record_on(stream));
  }
  stream->push([graph = exec->graph] {
    for (const std::function<void()>& one : graph->work) {
      one();
    }
  });
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* /*mode*/) {
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int /*flags*/) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const std::shared_ptr<EventState> state = event->state;
  std::shared_ptr<Capture> capture;
  {
    const std::scoped_lock lock(stream->mutex);
    capture = stream->capture;
  }
  std::uint64_t record = 0;
  {
    const std::scoped_lock lock(state->mutex);
    state->capture = capture;
    if (capture) {
      const std::scoped_lock capture_lock(capture->mutex);
      state->captured = capture->graph.add(stream, [] {});
      return cudaSuccess;
    }
    record = state->record_on(stream);
  }
  stream->push([state, record] { state->reach(record); });
  ++g_records;
  return cudaSuccess;
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  if (flags == cudaEventRecordDefault) {
    return cudaEventRecord(event, stream);
  }
  const std::scoped_lock lock(stream->mutex);
  if (!stream->capture) {
    return cudaErrorInvalidValue;
  }
  const std::scoped_lock capture_lock(stream->capture->mutex);
  stream->capture->graph.add(stream, [state = event->state] { state->reach_next(); });
  stream->capture->records.push_back(event->state);
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  const std::scoped_lock lock(begin->state->mutex, end->state->mutex);
  *milliseconds =
      std::chrono::duration<float, std::milli>(end->state->reached_at - begin->state->reached_at)
          .count();
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const std::scoped_lock lock(event->state->mutex);
  return event->state->reached == event->state->recorded ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const std::shared_ptr<EventState> state = event->state;
  std::uint64_t record = 0;
  {
    const std::scoped_lock lock(state->mutex);
    record = state->recorded;
  }
  state->await(record);
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int /*flags*/) {
  const std::shared_ptr<EventState> state = event->state;
  std::uint64_t record = 0;
  {
    const std::scoped_lock lock(stream->mutex, state->mutex);
    if (state->capture != stream->capture) {
      if (stream->capture) {
        return cudaErrorStreamCaptureIsolation;
      }
      const std::scoped_lock capture_lock(state->capture->mutex);
      if (state->capture->is_over) {
        return cudaErrorCapturedEvent;
      }
      stream->capture = state->capture;  // the stream joins the capture
      stream->capture->streams.push_back(stream);
    }
    if (stream->capture) {
      const std::scoped_lock capture_lock(state->capture->mutex);
      stream->capture->graph.add(
          stream, [] {}, static_cast<std::ptrdiff_t>(state->captured));
      return cudaSuccess;
    }
    record = state->recorded;
  }
  stream->push([state, record] { state->await(record); });
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  stream->push([=] { std::memset(memory, value, bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*kind*/,
                            cudaStream_t stream) {
  stream->push([=] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}
// NOLINTEND(readability-identifier-naming)
