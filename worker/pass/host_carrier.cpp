// SPDX-License-Identifier: MIT
#include "worker/pass/host_carrier.hpp"

#include <memory>
#include <utility>

namespace gangway::worker {
namespace {

at::Tensor tensor_of(comm::ReceivedTensor received) {
  const comm::TensorShape& shape = received.shape;
  if (shape.axes < 0) {
    return {};
  }
  const auto axes = static_cast<std::size_t>(shape.axes);
  std::byte* const memory = received.memory.get();
  return at::from_blob(
      memory, at::IntArrayRef(shape.sizes.data(), axes),
      at::IntArrayRef(shape.strides.data(), axes),
      [owner = std::move(received.memory)](void*) mutable { owner.reset(); },
      static_cast<at::ScalarType>(shape.type));
}

}  // namespace

void HostCarrier::send(int peer, const comm::TensorKey& key, const at::Tensor& tensor) {
  const comm::TensorShape shape = shape_of(tensor);
  const auto* const memory =
      tensor.defined() ? static_cast<const std::byte*>(tensor.const_data_ptr()) : nullptr;
  channel_.send(peer, key, shape, {memory, shape.bytes},
                std::make_shared<const at::Tensor>(tensor));
}

at::Tensor HostCarrier::receive(int peer, const comm::TensorKey& key) {
  return tensor_of(channel_.receive(peer, key));
}

}  // namespace gangway::worker
