// SPDX-License-Identifier: MIT
// The device properties of the stand-in for CUDA.
#include <cstdio>
#include <cstring>

#include <cuda_runtime_api.h>

#include "tests/comm/nccl/fake_cuda.hpp"

namespace {

thread_local const char* t_bus = "0000:01:00.0";

}  // namespace

namespace gangway::fake {

void see_device(const char* bus) { t_bus = bus; }

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
cudaError_t cudaDeviceGetPCIBusId(char* name, int size, int /*device*/) {
  return std::snprintf(name, static_cast<std::size_t>(size), "%s", t_bus) < size
             ? cudaSuccess
             : cudaErrorInvalidValue;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaSetDevice(int /*device*/) { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t /*error*/) { return "an error of the stand-in"; }
cudaError_t cudaDeviceGetStreamPriorityRange(int* lowest, int* highest) {
  *lowest = 0;
  *highest = -5;
  return cudaSuccess;
}
// NOLINTEND(readability-identifier-naming)
