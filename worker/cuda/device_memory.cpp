// SPDX-License-Identifier: MIT
#include "worker/cuda/device_memory.hpp"

#include "comm/cuda/compile_sum.hpp"
#include "comm/cuda/cuda_handles.hpp"
#include "comm/cuda/slice_kernels.hpp"

namespace gangway::worker {

using comm::check;

DeviceNetwork::DeviceNetwork(NetworkState& state, at::Device device, cudaStream_t stream)
    : state_(state),
      device_(device),
      stream_(stream),
      bytes_(state.layout().size() * sizeof(float)),
      weights_(comm::allocate_nccl_memory(bytes_)),
      first_moment_(comm::allocate_nccl_memory(bytes_)),
      second_moment_(comm::allocate_nccl_memory(bytes_)),
      average_(state.average() != nullptr ? comm::allocate_nccl_memory(bytes_)
                                          : comm::NcclMemory()) {}

void DeviceNetwork::copy(void* to, const void* from, cudaMemcpyKind kind) {
  check(cudaMemcpyAsync(to, from, bytes_, kind, stream_), "copying a network's state");
}

void DeviceNetwork::wait() {
  check(cudaStreamSynchronize(stream_), "copying a network's state");
}

void DeviceNetwork::fetch_weights() {
  copy(state_.weights().data(), weights_.get(), cudaMemcpyDeviceToHost);
  wait();
}

void DeviceNetwork::fetch() {
  copy(state_.weights().data(), weights_.get(), cudaMemcpyDeviceToHost);
  copy(state_.first_moment().data(), first_moment_.get(), cudaMemcpyDeviceToHost);
  copy(state_.second_moment().data(), second_moment_.get(), cudaMemcpyDeviceToHost);
  if (average_) {
    copy(state_.average()->data(), average_.get(), cudaMemcpyDeviceToHost);
  }
  wait();
}

void DeviceNetwork::store() {
  copy(weights_.get(), state_.weights().data(), cudaMemcpyHostToDevice);
  copy(first_moment_.get(), state_.first_moment().data(), cudaMemcpyHostToDevice);
  copy(second_moment_.get(), state_.second_moment().data(), cudaMemcpyHostToDevice);
  if (average_) {
    copy(average_.get(), state_.average()->data(), cudaMemcpyHostToDevice);
  }
  wait();
}

float* DeviceGradientMemory::allocate(std::size_t elements) {
  const std::size_t bytes = elements * sizeof(float);
  blocks_.push_back({comm::allocate_nccl_memory(bytes), bytes});
  return static_cast<float*>(blocks_.back().memory.get());
}

void DeviceGradientMemory::clear(float* values, std::size_t elements) {
  check(cudaMemsetAsync(values, 0, elements * sizeof(float), stream_), "clearing gradients");
}

void DeviceGradientMemory::add(float* to, const float* from, std::size_t elements) {
  comm::SliceSum sum{.program = comm::running_sum_program(2),
                     .elements = static_cast<std::int64_t>(elements),
                     .out = to};
  sum.summands.values[0] = to;
  sum.summands.values[1] = from;
  comm::launch_sum(sum, stream_);
}

}  // namespace gangway::worker
