// SPDX-License-Identifier: MIT
// The kernels of gan/cuda/input_kernels.hpp by the arithmetic that they share with the CPU, in the
// order of a stream of the stand-in.
#include "gan/cuda/input_kernels.hpp"
#include "tests/comm/nccl/fake_cuda.hpp"

namespace gangway::cuda {
namespace {

template <typename Value>
void take_in(const InputConversion& conversion) {
  const auto* const values = static_cast<const Value*>(conversion.values);
  for (std::int64_t i = 0; i < conversion.shape.elements(); ++i) {
    conversion.out[i] =
        input_value(values[place_as_read(conversion.shape, conversion.order, i)]);
  }
}

}  // namespace

void launch_input(const InputConversion& conversion, cudaStream_t stream) {
  fake::enqueue(stream, [conversion] {
    conversion.is_8_bit ? take_in<std::uint8_t>(conversion) : take_in<float>(conversion);
  });
}

}  // namespace gangway::cuda
