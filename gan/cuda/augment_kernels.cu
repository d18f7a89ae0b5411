// SPDX-License-Identifier: MIT
#include "gan/cuda/augment_kernels.hpp"
#include "gan/cuda/launch.hpp"

namespace gangway::cuda {
namespace {

__global__ void augment_drawing_kernel(const __grid_constant__ AugmentDrawing drawing,
                                       const __grid_constant__ DeviceKey key,
                                       gan::DrawnAugmentation* out) {
  const RandomKey at = placed(key.key, key.place);
  for (std::int64_t i = first_index(); i < drawing.count; i += index_stride()) {
    out[i] = gan::drawn_augmentation(drawing.chances, *drawing.strength, at, i, drawing.shape);
  }
}

__global__ void exact_sums_kernel(const __grid_constant__ ExactSums what, std::int64_t* sums) {
  const std::int64_t total = what.count * what.channels * what.num_values;
  for (std::int64_t i = first_index(); i < total; i += index_stride()) {
    const std::int64_t plane = i / what.num_values;
    const std::int64_t pixel =
        what.index[plane / what.channels * what.num_values + i % what.num_values];
    const long long value = __double2ll_rn(static_cast<double>(what.values[i]) * *what.scale);
    // In two's complement, unsigned and signed sums have the same bits.
    atomicAdd(reinterpret_cast<unsigned long long*>(sums + plane * what.num_pixels + pixel),
              static_cast<unsigned long long>(value));
  }
}

}  // namespace

void launch_exact_sums(const ExactSums& what, std::int64_t* sums, cudaStream_t stream) {
  const std::int64_t total = what.count * what.channels * what.num_values;
  if (total == 0) {
    return;
  }
  exact_sums_kernel<<<blocks_for(total), kThreads, 0, stream>>>(what, sums);
  check_launch("adding gradients of augmented pictures on the GPU");
}

void launch_augment_drawing(const AugmentDrawing& drawing, const DeviceKey& key,
                            gan::DrawnAugmentation* out, cudaStream_t stream) {
  if (drawing.count == 0) {
    return;
  }
  augment_drawing_kernel<<<blocks_for(drawing.count), kThreads, 0, stream>>>(drawing, key, out);
  check_launch("drawing augmentation on the GPU");
}

}  // namespace gangway::cuda
