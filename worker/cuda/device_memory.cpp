// SPDX-License-Identifier: MIT
#include "worker/cuda/device_memory.hpp"

#include <algorithm>
#include <utility>

#include "comm/cuda/compile_sum.hpp"
#include "comm/cuda/slice_kernels.hpp"

namespace gangway::worker {

using comm::check;

PinnedPages pin(comm::Arena& arena) {
  const std::size_t bytes = arena.size() * sizeof(float);
  if (bytes == 0 || cudaHostRegister(arena.data(), bytes, cudaHostRegisterDefault) != cudaSuccess) {
    (void)cudaGetLastError();  // else the next launch would report it
    return {};
  }
  return PinnedPages(arena.data());
}

DeviceNetwork::DeviceNetwork(NetworkState& state, std::vector<comm::ElementRange> updated,
                             at::Device device, cudaStream_t stream)
    : state_(state),
      device_(device),
      stream_(stream),
      held_(state.parts()),
      updated_(std::move(updated)),
      weights_(state.layout().size(), held_) {
  if (held_.empty()) {
    return;
  }
  const std::size_t elements = state.layout().size();
  while (moments_.size() < state.moments().size()) {
    moments_.emplace_back(elements, updated_);
  }
  if (state.average() != nullptr) {
    average_ = comm::DeviceArena(elements, updated_);
  }
  // Pins whole arenas, even if the worker holds a part: a copy must not cross into unpinned pages,
  // and pictures copy the whole.
  for (const Copy& copy : copies()) {
    pinned_.push_back(pin(*copy.host));
  }
}

PerMoment<float*> DeviceNetwork::moments() {
  PerMoment<float*> found{};
  std::ranges::transform(moments_, found.begin(), &comm::DeviceArena::data);
  return found;
}

std::vector<DeviceNetwork::Copy> DeviceNetwork::copies() {
  std::vector<Copy> all{{&state_.weights(), weights(), &held_}};
  for (std::size_t i = 0; i < moments_.size(); ++i) {
    all.push_back({&state_.moments()[i], moments_[i].data(), &updated_});
  }
  if (average_) {
    all.push_back({state_.average(), average(), &updated_});
  }
  return all;
}

void DeviceNetwork::fetch(const Copy& copy, comm::ElementRange range) {
  if (range.empty()) {
    return;
  }
  check(cudaMemcpyAsync(copy.host->data() + range.begin, copy.device + range.begin,
                        range.size() * sizeof(float), cudaMemcpyDeviceToHost, stream_),
        "copying a network's state");
}

void DeviceNetwork::wait() { check(cudaStreamSynchronize(stream_), "copying a network's state"); }

void DeviceNetwork::fetch_weights() {
  for (const comm::ElementRange part : held_) {
    fetch({&state_.weights(), weights(), &held_}, part);
  }
  wait();
}

void DeviceNetwork::fetch(std::span<const comm::ElementRange> ranges) {
  for (const Copy& copy : copies()) {
    for (const comm::ElementRange range : ranges) {
      for (const comm::ElementRange part : *copy.parts) {
        fetch(copy, comm::intersect(range, part));
      }
    }
  }
  wait();
}

void DeviceNetwork::store() {
  for (const Copy& copy : copies()) {
    for (const comm::ElementRange part : *copy.parts) {
      check(cudaMemcpyAsync(copy.device + part.begin, copy.host->data() + part.begin,
                            part.size() * sizeof(float), cudaMemcpyHostToDevice, stream_),
            "copying a network's state");
    }
  }
  wait();
}

float* DeviceGradientMemory::allocate(std::size_t elements) {
  return blocks_.emplace_back(arena_elements_, parts_, elements / arena_elements_).data();
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
