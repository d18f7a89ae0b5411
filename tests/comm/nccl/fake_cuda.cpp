// SPDX-License-Identifier: MIT
#include "tests/comm/nccl/fake_cuda.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include <cuda_runtime_api.h>

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
  for (std::uint64_t turn = key >> 58U; turn > 0; --turn) {  // up to 63 turns
    std::this_thread::yield();
  }
}

/// How often an event was recorded, and up to which of these its streams have come.
struct EventState {
  std::mutex mutex;  // guards the two below
  std::condition_variable changed;
  std::uint64_t recorded = 0;
  std::uint64_t reached = 0;
  std::chrono::steady_clock::time_point reached_at;
};

}  // namespace

struct CUevent_st {
  std::shared_ptr<EventState> state = std::make_shared<EventState>();
};

struct CUstream_st {
  CUstream_st() : thread([this](const std::stop_token& stop) { run(stop); }) {}

  void push(std::function<void()> work) {
    if (at_once) {
      work();
      return;
    }
    const std::scoped_lock lock(mutex);
    queue.push_back(std::move(work));
    changed.notify_all();
  }
  std::atomic<bool> at_once = false;
  void wait_idle() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return queue.empty() && !busy; });
  }

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex);
    while (changed.wait(lock, stop, [this] { return !queue.empty(); })) {
      const std::function<void()> work = std::move(queue.front());
      queue.pop_front();
      busy = true;
      lock.unlock();
      dawdle_a_little();
      work();
      lock.lock();
      busy = false;
      changed.notify_all();
    }
  }

  std::mutex mutex;  // guards the three below
  std::condition_variable_any changed;
  std::deque<std::function<void()>> queue;
  bool busy = false;
  std::jthread thread;
};

namespace gangway::fake {

void enqueue(cudaStream_t stream, std::function<void()> work) { stream->push(std::move(work)); }
void run_at_once(cudaStream_t stream) { stream->at_once = true; }
void dawdle(std::uint64_t seed) { g_dawdle_seed = seed; }

}  // namespace gangway::fake

// NOLINTBEGIN(readability-identifier-naming): the runtime's names
cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int /*device*/) {
  *properties = {};
  std::strcpy(properties->name, "stand-in");
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int /*device*/) { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t /*error*/) { return "an error of the stand-in"; }
cudaError_t cudaDeviceGetStreamPriorityRange(int* lowest, int* highest) {
  *lowest = 0;
  *highest = -5;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int /*flags*/,
                                         int /*priority*/) {
  *stream = new CUstream_st;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int /*flags*/) {
  *stream = new CUstream_st;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  stream->wait_idle();
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (stream != nullptr) {
    stream->wait_idle();
  }
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t /*stream*/, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
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
  std::uint64_t record = 0;
  {
    const std::scoped_lock lock(state->mutex);
    record = ++state->recorded;
  }
  stream->push([state, record] {
    const std::scoped_lock lock(state->mutex);
    state->reached = record;
    state->reached_at = std::chrono::steady_clock::now();
    state->changed.notify_all();
  });
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  const std::scoped_lock lock(begin->state->mutex, end->state->mutex);
  *milliseconds = std::chrono::duration<float, std::milli>(end->state->reached_at -
                                                           begin->state->reached_at)
                      .count();
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const std::scoped_lock lock(event->state->mutex);
  return event->state->reached == event->state->recorded ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int /*flags*/) {
  const std::shared_ptr<EventState> state = event->state;
  std::uint64_t record = 0;
  {
    const std::scoped_lock lock(state->mutex);
    record = state->recorded;
  }
  stream->push([state, record] {
    std::unique_lock lock(state->mutex);
    state->changed.wait(lock, [&] { return state->reached >= record; });
  });
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) { return cudaMalloc(memory, bytes); }
cudaError_t cudaFreeHost(void* memory) { return cudaFree(memory); }
cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
  std::memset(memory, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  stream->push([=] { std::memset(memory, value, bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*kind*/) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*kind*/,
                            cudaStream_t stream) {
  stream->push([=] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}
// NOLINTEND(readability-identifier-naming)
