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

}  // namespace

void launch_augment_drawing(const AugmentDrawing& drawing, const DeviceKey& key,
                            gan::DrawnAugmentation* out, cudaStream_t stream) {
  if (drawing.count == 0) {
    return;
  }
  augment_drawing_kernel<<<blocks_for(drawing.count), kThreads, 0, stream>>>(drawing, key, out);
  check_launch("drawing augmentation on the GPU");
}

}  // namespace gangway::cuda
