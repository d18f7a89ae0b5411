// SPDX-License-Identifier: MIT
#include "gan/cuda/input_kernels.hpp"
#include "gan/cuda/launch.hpp"

namespace gangway::cuda {
namespace {

template <typename Value>
__global__ void input_kernel(const Value* values, InputShape shape, InputOrder order, float* out) {
  const std::int64_t elements = shape.elements();
  for (std::int64_t i = first_index(); i < elements; i += index_stride()) {
    out[i] = input_value(values[place_as_read(shape, order, i)]);
  }
}

}  // namespace

void launch_input(const InputConversion& conversion, cudaStream_t stream) {
  const std::int64_t elements = conversion.shape.elements();
  if (elements == 0) {
    return;
  }
  if (conversion.is_8_bit) {
    input_kernel<<<blocks_for(elements), kThreads, 0, stream>>>(
        static_cast<const std::uint8_t*>(conversion.values), conversion.shape, conversion.order,
        conversion.out);
  } else {
    input_kernel<<<blocks_for(elements), kThreads, 0, stream>>>(
        static_cast<const float*>(conversion.values), conversion.shape, conversion.order,
        conversion.out);
  }
  check_launch("taking in a batch on the GPU");
}

}  // namespace gangway::cuda
