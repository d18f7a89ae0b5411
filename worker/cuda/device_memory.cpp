// SPDX-License-Identifier: MIT
#include "worker/cuda/device_memory.hpp"

#include <algorithm>

#include "comm/cuda/compile_sum.hpp"
#include "comm/cuda/slice_kernels.hpp"

namespace gangway::worker {

using comm::check;

PinnedPages pin(comm::Arena& arena) {
  const std::size_t bytes = arena.size() * sizeof(float);
  if (bytes == 0 || cudaHostRegister(arena.data(), bytes, cudaHostRegisterDefault) != cudaSuccess) {
    (void)cudaGetLastError();  // or the next kernel's launch would report it
    return {};
  }
  return PinnedPages(arena.data());
}

DeviceNetwork::DeviceNetwork(NetworkState& state, at::Device device, cudaStream_t stream,
                             Holding holding)
    : state_(state),
      device_(device),
      stream_(stream),
      bytes_(state.layout().size() * sizeof(float)),
      weights_(comm::allocate_nccl_memory(bytes_)),
      average_(holding == Holding::kAll && state.average() != nullptr
                   ? comm::allocate_nccl_memory(bytes_)
                   : comm::NcclMemory()) {
  while (holding == Holding::kAll && moments_.size() < state.moments().size()) {
    moments_.push_back(comm::allocate_nccl_memory(bytes_));
  }
  for (const Copy& copy : copies()) {
    pinned_.push_back(pin(*copy.host));
  }
}

PerMoment<float*> DeviceNetwork::moments() {
  PerMoment<float*> found{};
  std::ranges::transform(moments_, found.begin(), floats);
  return found;
}

std::vector<DeviceNetwork::Copy> DeviceNetwork::copies() {
  std::vector<Copy> all{{&state_.weights(), weights()}};
  for (std::size_t i = 0; i < moments_.size(); ++i) {
    all.push_back({&state_.moments()[i], floats(moments_[i])});
  }
  if (average_) {
    all.push_back({state_.average(), average()});
  }
  return all;
}

void DeviceNetwork::fetch(const Copy& copy, comm::ElementRange range) {
  check(cudaMemcpyAsync(copy.host->data() + range.begin, copy.device + range.begin,
                        range.size() * sizeof(float), cudaMemcpyDeviceToHost, stream_),
        "copying a network's state");
}

void DeviceNetwork::wait() { check(cudaStreamSynchronize(stream_), "copying a network's state"); }

void DeviceNetwork::fetch_weights() {
  fetch({&state_.weights(), weights()}, {0, state_.layout().size()});
  wait();
}

void DeviceNetwork::fetch(std::span<const comm::ElementRange> ranges) {
  for (const Copy& copy : copies()) {
    for (const comm::ElementRange range : ranges) {
      fetch(copy, range);
    }
  }
  wait();
}

void DeviceNetwork::store() {
  for (const Copy& copy : copies()) {
    check(cudaMemcpyAsync(copy.device, copy.host->data(), bytes_, cudaMemcpyHostToDevice, stream_),
          "copying a network's state");
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
