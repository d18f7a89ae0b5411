// SPDX-License-Identifier: MIT
#include "worker/cuda/torch_cuda.hpp"

#include <ATen/Context.h>
#include <c10/cuda/CUDAStream.h>

namespace gangway::worker {

at::Device torch_device(int index) { return {at::kCUDA, static_cast<c10::DeviceIndex>(index)}; }

void compute_on(int index, cudaStream_t stream) {
  at::globalContext().lazyInitDevice(at::kCUDA);
  c10::cuda::setCurrentCUDAStream(
      c10::cuda::getStreamFromExternal(stream, static_cast<c10::DeviceIndex>(index)));
}

void choose_kernels(KernelChoice choice) {
  at::Context& context = at::globalContext();
  const bool deterministic = choice == KernelChoice::kDeterministic;
  context.setDeterministicAlgorithms(deterministic, /*warn_only=*/false);
  // It would fill every new tensor with NaN, to show who reads what nobody wrote.
  context.setDeterministicFillUninitializedMemory(false);
  context.setDeterministicCuDNN(deterministic);
  context.setBenchmarkCuDNN(!deterministic);
  context.setAllowTF32CuDNN(false);
  context.setAllowTF32CuBLAS(false);
}

}  // namespace gangway::worker
