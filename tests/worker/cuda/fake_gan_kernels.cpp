// SPDX-License-Identifier: MIT
// The kernels of gan/cuda, by arithmetic that they share with the CPU, in the order of a stand-in's
// stream. The CPU draws the random numbers, because it knows the step.
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
    conversion.out[i] =
        input_value(values[place_kept(conversion.shape, conversion.places,
                                      place_as_read(conversion.shape, conversion.order, i))]);
  }
}

}  // namespace

void launch_input(const InputConversion& conversion, cudaStream_t stream) {
  fake::enqueue(stream, [conversion] {
    conversion.is_8_bit ? take_in<std::uint8_t>(conversion) : take_in<float>(conversion);
  });
}

void load_input_kernels() {}
void launch_keep(const KeptBatch& batch, cudaStream_t stream) {
  fake::enqueue(stream, [batch] {
    for (std::int64_t i = 0; i < batch.shape.elements(); ++i) {
      batch.kept_values[place_kept(batch.shape, batch.places, i)] = batch.values[i];
    }
    for (std::int64_t i = 0; i < batch.shape.count; ++i) {
      batch.kept_labels[batch.places[i]] = batch.labels[i];
    }
  });
}

void launch_kept_labels(const std::int64_t* kept, const std::int64_t* places, std::int64_t count,
                        std::int64_t* out, cudaStream_t stream) {
  fake::enqueue(stream, [=] {
    for (std::int64_t i = 0; i < count; ++i) {
      out[i] = kept[places[i]];
    }
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
