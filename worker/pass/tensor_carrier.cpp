// SPDX-License-Identifier: MIT
#include "worker/pass/tensor_carrier.hpp"

#include <algorithm>

#include "base/errors.hpp"

namespace gangway::worker {
namespace {

/// Returns the number of elements from the first to the last of `tensor` in memory, gaps included.
std::int64_t spanned(const at::Tensor& tensor) {
  if (tensor.numel() == 0) {
    return 0;
  }
  std::int64_t count = 1;
  for (std::int64_t axis = 0; axis < tensor.dim(); ++axis) {
    count += (tensor.size(axis) - 1) * tensor.stride(axis);
  }
  return count;
}

}  // namespace

comm::TensorShape shape_of(const at::Tensor& tensor) {
  if (!tensor.defined()) {
    return {};
  }
  if (tensor.dim() > static_cast<std::int64_t>(comm::TensorShape::kMostAxes)) {
    throw InvariantError(
        "a tensor of so many axes cannot go to another worker; please report this");
  }
  comm::TensorShape shape{
      .type = static_cast<std::int32_t>(tensor.scalar_type()),
      .axes = static_cast<std::int32_t>(tensor.dim()),
      .bytes = static_cast<std::uint64_t>(spanned(tensor)) * tensor.element_size()};
  std::ranges::copy(tensor.sizes(), shape.sizes.begin());
  std::ranges::copy(tensor.strides(), shape.strides.begin());
  return shape;
}

at::Tensor empty_of(const comm::TensorShape& shape, at::Device device) {
  const auto axes = static_cast<std::size_t>(shape.axes);
  return at::empty_strided(at::IntArrayRef(shape.sizes.data(), axes),
                           at::IntArrayRef(shape.strides.data(), axes),
                           at::device(device).dtype(static_cast<at::ScalarType>(shape.type)));
}

}  // namespace gangway::worker
