// SPDX-License-Identifier: MIT
#include "comm/tensors/tensor_way.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

#include <fmt/format.h>

#include "comm/transport/peer_error.hpp"

namespace gangway::comm {
namespace {

/// Equals LibTorch's allocator's alignment, because its kernels choose by alignment.
constexpr std::size_t kTensorAlignment = 64;

std::shared_ptr<std::byte> aligned_memory(std::size_t bytes) {
  const std::size_t rounded =
      std::max<std::size_t>(1, (bytes + kTensorAlignment - 1) / kTensorAlignment) *
      kTensorAlignment;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(kTensorAlignment, rounded));
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return {memory, [](std::byte* one) { std::free(one); }};
}

}  // namespace

ReceivedTensor room_for(const TensorShape& shape, WorkerIndex worker, WorkerIndex peer) {
  if (shape.axes > static_cast<int>(TensorShape::kMostAxes)) {
    throw PeerError(peer, fmt::format("rank {}: rank {} sent a tensor of {} axes; were the "
                                      "workers built from one job?",
                                      rank_of(worker), rank_of(peer), shape.axes));
  }
  return {.shape = shape, .memory = aligned_memory(shape.bytes)};
}

}  // namespace gangway::comm
