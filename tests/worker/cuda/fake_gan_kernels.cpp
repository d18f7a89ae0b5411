// SPDX-License-Identifier: MIT
// The kernels of gan/cuda by the arithmetic that they share with the CPU, in the order of a stream
// of the stand-in. Draws are the CPU's, which knows the step.
#include "gan/cuda/input_kernels.hpp"
#include "gan/cuda/random_kernels.hpp"
#include "gan/cuda/random_on_device.hpp"
#include "tests/comm/nccl/fake_cuda.hpp"

namespace gangway::cuda {
namespace {

template <typename Value>
void take_in(const InputConversion& conversion) {
  const auto* const values = static_cast<const Value*>(conversion.values);
  for (std::int64_t i = 0; i < conversion.shape.elements(); ++i) {
    conversion.out[i] = input_value(values[place_as_read(conversion.shape, conversion.order, i)]);
  }
}

}  // namespace

void launch_input(const InputConversion& conversion, cudaStream_t stream) {
  fake::enqueue(stream, [conversion] {
    conversion.is_8_bit ? take_in<std::uint8_t>(conversion) : take_in<float>(conversion);
  });
}

void store_step_place(const StepPlace& place, StepPlace* out, cudaStream_t stream) {
  fake::enqueue(stream, [place, out] { *out = place; });
}

}  // namespace gangway::cuda

namespace gangway::gan {

DrawFromPlace::DrawFromPlace(const cuda::StepPlace* /*place*/) {}
DrawFromPlace::~DrawFromPlace() = default;

}  // namespace gangway::gan
