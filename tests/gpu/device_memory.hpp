// SPDX-License-Identifier: MIT
// Memory of a test on the device and for copies, and a fixture that skips tests without a GPU.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "comm/cuda/cuda_handles.hpp"

namespace gangway {

/// Returns 0 without a usable device and driver.
[[nodiscard]] inline int num_devices() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess ? devices : 0;
}

class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (num_devices() == 0) {
      GTEST_SKIP() << "no CUDA device";
    }
  }
};

/// Values of type T in device memory; zeroed. Copies wait for the device.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count)
      : count_(count), memory_(comm::allocate_on_device(count * sizeof(T) + sizeof(T))) {
    comm::check(cudaMemset(memory_.get(), 0, count * sizeof(T)), "a test's memory");
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    comm::check(
        cudaMemcpy(memory_.get(), values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice),
        "a test's memory");
  }

  [[nodiscard]] T* data() { return static_cast<T*>(memory_.get()); }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::vector<T> on_host() const {
    std::vector<T> values(count_);
    comm::check(cudaDeviceSynchronize(), "a test's kernel");
    comm::check(
        cudaMemcpy(values.data(), memory_.get(), count_ * sizeof(T), cudaMemcpyDeviceToHost),
        "a test's memory");
    return values;
  }

 private:
  std::size_t count_;
  comm::CudaMemory memory_;
};

/// Host memory from which the device copies in the order of a stream.
class PinnedFloats {
 public:
  explicit PinnedFloats(std::size_t count) : count_(count) {
    void* memory = nullptr;
    comm::check(cudaMallocHost(&memory, count * sizeof(float) + sizeof(float)), "a test's memory");
    memory_.reset(memory);
  }
  [[nodiscard]] std::span<float> values() { return {static_cast<float*>(memory_.get()), count_}; }

 private:
  std::size_t count_;
  comm::PinnedMemory memory_;
};

/// Makes a stream as a framework does: not ordered after the default stream.
[[nodiscard]] inline comm::CudaStream make_compute_stream() {
  cudaStream_t stream = nullptr;
  comm::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a test's stream");
  return comm::CudaStream(stream);
}

}  // namespace gangway
