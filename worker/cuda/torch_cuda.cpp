// SPDX-License-Identifier: MIT
#include "worker/cuda/torch_cuda.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <ATen/Context.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <dlfcn.h>
#include <fmt/format.h>

namespace gangway::worker {

at::Device torch_device(int index) { return {at::kCUDA, static_cast<c10::DeviceIndex>(index)}; }

void compute_on(int index, cudaStream_t stream) {
  at::globalContext().lazyInitDevice(at::kCUDA);
  c10::cuda::setCurrentCUDAStream(
      c10::cuda::getStreamFromExternal(stream, static_cast<c10::DeviceIndex>(index)));
}

ComputingOn::ComputingOn(cudaStream_t stream)
    : before_(c10::cuda::getCurrentCUDAStream().stream()) {
  compute_on(c10::cuda::current_device(), stream);
}

ComputingOn::~ComputingOn() { compute_on(c10::cuda::current_device(), before_); }

void choose_kernels(KernelChoice choice) {
  at::Context& context = at::globalContext();
  const bool deterministic = choice == KernelChoice::kDeterministic;
  context.setDeterministicAlgorithms(deterministic, /*warn_only=*/false);
  // Otherwise LibTorch fills every new tensor with NaN, to expose reads of uninitialised memory.
  context.setDeterministicFillUninitializedMemory(false);
  context.setDeterministicCuDNN(deterministic);
  context.setBenchmarkCuDNN(!deterministic);
  context.setAllowTF32CuDNN(false);
  context.setAllowTF32CuBLAS(false);
}

void tell_allocator(int index, messages::MemoryFigures& figures) {
  namespace allocator = c10::cuda::CUDACachingAllocator;
  constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const auto bytes = [](std::int64_t count) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, count));
  };
  const c10::CachingDeviceAllocator::DeviceStats stats =
      allocator::getDeviceStats(static_cast<c10::DeviceIndex>(index));
  figures.allocated_bytes = bytes(stats.allocated_bytes[kAll].current);
  figures.reserved_bytes = bytes(stats.reserved_bytes[kAll].current);
  figures.peak_bytes = bytes(stats.reserved_bytes[kAll].peak);
  figures.retries = bytes(stats.num_alloc_retries + stats.num_ooms);
}

std::int64_t failed_requests(int index) {
  return c10::cuda::CUDACachingAllocator::getDeviceStats(static_cast<c10::DeviceIndex>(index))
      .num_ooms;
}

std::vector<messages::ArithmeticFact> cuda_facts() {
  std::vector<messages::ArithmeticFact> facts;
  int driver = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess) {  // 13020: CUDA 13.2 is the newest it runs
    facts.push_back({"driver", fmt::format("CUDA {}.{}", driver / 1000, driver % 1000 / 10)});
  }
  // Looked up at run time: LibTorch has loaded the library but ships no header.
  using Version = std::size_t (*)();
  if (void* const found = dlsym(RTLD_DEFAULT, "cublasLtGetVersion"); found != nullptr) {
    facts.push_back({"cublas", std::to_string(reinterpret_cast<Version>(found)())});
  }
  return facts;
}

}  // namespace gangway::worker
