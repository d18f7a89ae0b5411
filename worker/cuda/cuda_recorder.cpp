// SPDX-License-Identifier: MIT
#include "worker/cuda/cuda_recorder.hpp"

#include "gan/cuda/random_kernels.hpp"
#include "gan/cuda/random_on_device.hpp"
#include "worker/cuda/torch_cuda.hpp"

namespace gangway::worker {
namespace {

using comm::check;

constexpr const char* kBranching = "recording micro-batches beside one another";

}  // namespace

CudaRecorder::CudaRecorder(cudaStream_t stream, int most_branches)
    : stream_(stream),
      fork_event_(comm::make_event()),
      place_(comm::allocate_on_device(sizeof(cuda::StepPlace))) {
  for (int i = 0; i < most_branches; ++i) {
    cudaStream_t own = nullptr;
    check(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), kBranching);
    branches_.push_back({comm::CudaStream(own), comm::make_event()});
  }
}

CudaRecorder::~CudaRecorder() { (void)cudaStreamSynchronize(stream_); }

std::size_t CudaRecorder::record(const std::function<void()>& body) {
  const gan::DrawFromPlace draws(place());
  try {
    graphs_.begin();
    body();
    return graphs_.end();
  } catch (...) {
    graphs_.abandon();
    throw;
  }
}

void CudaRecorder::side_by_side(const std::vector<std::function<void()>>& bodies) {
  check(cudaEventRecord(fork_event_.get(), stream_), kBranching);
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    if (!bodies[i]) {
      continue;
    }
    const Branch& branch = branches_.at(i);
    check(cudaStreamWaitEvent(branch.stream.get(), fork_event_.get(), 0), kBranching);
    const ComputingOn computing(branch.stream.get());
    bodies[i]();
    check(cudaEventRecord(branch.is_over.get(), branch.stream.get()), kBranching);
  }
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    if (bodies[i]) {
      check(cudaStreamWaitEvent(stream_, branches_[i].is_over.get(), 0), kBranching);
    }
  }
}

void CudaRecorder::forget_all() {
  check(cudaStreamSynchronize(stream_), "ending recorded steps");
  graphs_.forget_all();
}

void CudaRecorder::begin_step(std::uint64_t seed, std::int64_t step) {
  cuda::store_step_place({.seed = seed, .step = step}, place(), stream_);
}

}  // namespace gangway::worker
