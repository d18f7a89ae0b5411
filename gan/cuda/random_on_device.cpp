// SPDX-License-Identifier: MIT
// Implements the device draws of gan/random_tensors.hpp and gan/augment/augmentation.hpp. Linked as
// an object into GPU programs because only weak symbols name it.
#include "gan/cuda/random_on_device.hpp"

#include <c10/cuda/CUDAStream.h>

#include "gan/augment/augmentation.hpp"
#include "gan/augment/exact_gather.hpp"
#include "gan/cuda/augment_kernels.hpp"
#include "gan/cuda/random_kernels.hpp"
#include "gan/random_tensors.hpp"

namespace gangway::gan {
namespace {

// Belongs to the calling thread, as the state of LibTorch's guards.
thread_local const cuda::StepPlace* t_place = nullptr;

}  // namespace

DrawFromPlace::DrawFromPlace(const cuda::StepPlace* place) { t_place = place; }
DrawFromPlace::~DrawFromPlace() { t_place = nullptr; }

void draw_augmentations_on_device(const AugmentChances& chances, const at::Tensor& strength,
                                  const RandomKey& key, const PictureShape& shape,
                                  const at::Tensor& out) {
  cuda::launch_augment_drawing({.chances = chances,
                                .strength = strength.const_data_ptr<double>(),
                                .shape = shape,
                                .count = out.size(0)},
                               {.key = key, .place = key.phase >= 0 ? t_place : nullptr},
                               reinterpret_cast<DrawnAugmentation*>(out.mutable_data_ptr<double>()),
                               c10::cuda::getCurrentCUDAStream(out.device().index()).stream());
}

void add_scaled_on_device(const at::Tensor& values, const at::Tensor& index,
                          const at::Tensor& scale, const at::Tensor& sums) {
  cuda::launch_exact_sums({.values = values.const_data_ptr<float>(),
                           .index = index.const_data_ptr<std::int64_t>(),
                           .scale = scale.const_data_ptr<double>(),
                           .count = values.size(0),
                           .channels = values.size(1),
                           .num_values = values.size(2),
                           .num_pixels = sums.size(2)},
                          sums.mutable_data_ptr<std::int64_t>(),
                          c10::cuda::getCurrentCUDAStream(values.device().index()).stream());
}

void draw_on_device(const RandomKey& key, const Distribution& distribution, const at::Tensor& out) {
  cudaStream_t stream = c10::cuda::getCurrentCUDAStream(out.device().index()).stream();
  const cuda::DeviceKey placed{.key = key, .place = key.phase >= 0 ? t_place : nullptr};
  switch (distribution.kind) {
    case Distribution::Kind::kNormal:
      return cuda::fill_normal(placed, out.mutable_data_ptr<float>(), out.numel(), stream);
    case Distribution::Kind::kUniform:
      return cuda::fill_uniform(placed, out.mutable_data_ptr<float>(), out.numel(), stream);
    case Distribution::Kind::kBelow:
      return cuda::fill_below(placed, distribution.bound, out.mutable_data_ptr<std::int64_t>(),
                              out.numel(), stream);
  }
}

}  // namespace gangway::gan
