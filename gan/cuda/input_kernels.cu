// SPDX-License-Identifier: MIT
#include "gan/cuda/input_kernels.hpp"
#include "gan/cuda/launch.hpp"

namespace gangway::cuda {
namespace {

template <typename Value>
__global__ void input_kernel(const Value* values, const std::int64_t* places, InputShape shape,
                             InputOrder order, float* out) {
  const std::int64_t elements = shape.elements();
  for (std::int64_t i = first_index(); i < elements; i += index_stride()) {
    out[i] = input_value(values[place_kept(shape, places, place_as_read(shape, order, i))]);
  }
}

__global__ void keep_kernel(const __grid_constant__ KeptBatch batch) {
  for (std::int64_t i = first_index(); i < batch.shape.elements(); i += index_stride()) {
    batch.kept_values[place_kept(batch.shape, batch.places, i)] = batch.values[i];
  }
  for (std::int64_t i = first_index(); i < batch.shape.count; i += index_stride()) {
    batch.kept_labels[batch.places[i]] = batch.labels[i];
  }
}

__global__ void kept_labels_kernel(const std::int64_t* kept, const std::int64_t* places,
                                   std::int64_t count, std::int64_t* out) {
  for (std::int64_t i = first_index(); i < count; i += index_stride()) {
    out[i] = kept[places[i]];
  }
}

}  // namespace

void load_input_kernels() {
  cudaFuncAttributes asked{};
  for (const void* kernel : {reinterpret_cast<const void*>(input_kernel<std::uint8_t>),
                             reinterpret_cast<const void*>(input_kernel<float>),
                             reinterpret_cast<const void*>(keep_kernel),
                             reinterpret_cast<const void*>(kept_labels_kernel)}) {
    (void)cudaFuncGetAttributes(&asked, kernel);
  }
  check_launch("loading kernels onto the GPU");
}

void launch_input(const InputConversion& conversion, cudaStream_t stream) {
  const std::int64_t elements = conversion.shape.elements();
  if (elements == 0) {
    return;
  }
  if (conversion.is_8_bit) {
    input_kernel<<<blocks_for(elements), kThreads, 0, stream>>>(
        static_cast<const std::uint8_t*>(conversion.values), conversion.places, conversion.shape,
        conversion.order, conversion.out);
  } else {
    input_kernel<<<blocks_for(elements), kThreads, 0, stream>>>(
        static_cast<const float*>(conversion.values), conversion.places, conversion.shape,
        conversion.order, conversion.out);
  }
  check_launch("taking in a batch on the GPU");
}

void launch_keep(const KeptBatch& batch, cudaStream_t stream) {
  if (batch.shape.elements() == 0) {
    return;
  }
  keep_kernel<<<blocks_for(batch.shape.elements()), kThreads, 0, stream>>>(batch);
  check_launch("keeping a batch on the GPU");
}

void launch_kept_labels(const std::int64_t* kept, const std::int64_t* places, std::int64_t count,
                        std::int64_t* out, cudaStream_t stream) {
  if (count == 0) {
    return;
  }
  kept_labels_kernel<<<blocks_for(count), kThreads, 0, stream>>>(kept, places, count, out);
  check_launch("taking in labels on the GPU");
}

}  // namespace gangway::cuda
