// SPDX-License-Identifier: MIT
// Device memory and page-locked memory of the stand-in for CUDA: host memory, with counts.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include <cuda_runtime_api.h>

#include "tests/comm/nccl/fake_cuda.hpp"

namespace {

/// Device memory by the address that cudaMalloc returned.
struct DeviceMemory {
  std::mutex mutex;  // guards all members below
  std::map<void*, std::size_t> given;
  std::int64_t bytes = 0;
  std::int64_t most = 0;

  void count(std::int64_t more) {
    bytes += more;
    most = std::max(most, bytes);
  }
};
DeviceMemory g_memory;
std::atomic<int> g_times_locked = 0;

void* allocate(std::size_t bytes) { return std::aligned_alloc(256, (bytes + 255) / 256 * 256); }

}  // namespace

namespace gangway::fake {

std::size_t most_device_bytes() {
  const std::scoped_lock lock(g_memory.mutex);
  return static_cast<std::size_t>(g_memory.most);
}
void forget_most_device_bytes() {
  const std::scoped_lock lock(g_memory.mutex);
  g_memory.most = g_memory.bytes;
}
int times_locked() { return g_times_locked; }
void count_device_bytes(std::int64_t bytes) {
  const std::scoped_lock lock(g_memory.mutex);
  g_memory.count(bytes);
}

}  // namespace gangway::fake

// NOLINTBEGIN(readability-identifier-naming): the runtime's names
cudaError_t cudaHostRegister(void* /*memory*/, std::size_t /*bytes*/, unsigned int /*flags*/) {
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* /*memory*/) { return cudaSuccess; }
cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  *memory = allocate(bytes);
  const std::scoped_lock lock(g_memory.mutex);
  g_memory.given[*memory] = bytes;
  g_memory.count(static_cast<std::int64_t>(bytes));
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = std::size_t{1} << 30U;
  *free = *total / 2;
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  {
    const std::scoped_lock lock(g_memory.mutex);
    if (const auto given = g_memory.given.find(memory); given != g_memory.given.end()) {
      g_memory.count(-static_cast<std::int64_t>(given->second));
      g_memory.given.erase(given);
    }
  }
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  ++g_times_locked;
  *memory = allocate(bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
  std::memset(memory, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*kind*/) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
// NOLINTEND(readability-identifier-naming)
