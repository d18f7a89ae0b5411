// SPDX-License-Identifier: MIT
#include "worker/cuda/cuda_recorder.hpp"

#include "gan/cuda/random_kernels.hpp"
#include "gan/cuda/random_on_device.hpp"

namespace gangway::worker {

CudaRecorder::CudaRecorder(cudaStream_t stream)
    : stream_(stream), place_(comm::allocate_on_device(sizeof(cuda::StepPlace))) {}

CudaRecorder::~CudaRecorder() { (void)cudaStreamSynchronize(stream_); }

std::size_t CudaRecorder::record(const std::function<void()>& body) {
  const gan::DrawFromPlace draws(place());
  graphs_.begin();
  try {
    body();
    return graphs_.end();
  } catch (...) {
    graphs_.abandon();
    throw;
  }
}

void CudaRecorder::begin_step(std::uint64_t seed, std::int64_t step) {
  cuda::store_step_place({.seed = seed, .step = step}, place(), stream_);
}

}  // namespace gangway::worker
