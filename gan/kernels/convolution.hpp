// SPDX-License-Identifier: MIT
// Convolutions with fast derivatives of any order. On CPUs, products are Gangway's own where
// gan/kernels/picture_maps.hpp has them. A penalty differentiates the input's gradient by the
// weight. LibTorch computes this with a kernel as large as the picture: on an H100, 100 times
// slower than forward. This code computes it as the usual weight gradient, as StyleGAN2's
// conv2d_gradfix does. Compute thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/ATen.h>

namespace gangway::gan {

/// Each vector has one number for each dimension of the picture.
struct ConvolutionPlaces {
  std::vector<std::int64_t> stride;
  std::vector<std::int64_t> padding;
  std::vector<std::int64_t> dilation;
  bool is_transposed = false;
  std::vector<std::int64_t> output_padding;  ///< of a transposed convolution
  std::int64_t groups = 1;
};

/// Convolves. Has derivatives of any order, for any type and device. Results and first derivatives
/// have the bits of at::convolution, except those of Gangway's CPU products: float32 and bf16 with
/// a weight that is channels last.
/// @param x       [N, in, …]
/// @param weight  [out, in / groups, …]; transposed: [in, out / groups, …]
/// @param bias    [out] or nothing
[[nodiscard]] at::Tensor convolved(const at::Tensor& x, const at::Tensor& weight,
                                   const std::optional<at::Tensor>& bias,
                                   const ConvolutionPlaces& places);

/// Returns one number for each side of a picture; a single one holds for all sides.
[[nodiscard]] std::vector<std::int64_t> by_side(c10::SymIntArrayRef values, std::size_t sides = 2);

/// Returns whether `bias` has the shape [channels]. LibTorch's kernels refuse any other shape.
[[nodiscard]] bool is_bias_of(const std::optional<at::Tensor>& bias, std::int64_t channels);

/// Registers these derivatives for every convolution of this process, with or without autocast.
/// @param key  dispatch key to register for, e.g. c10::DispatchKey::AutogradCUDA
void derive_convolutions_well(c10::DispatchKey key);

}  // namespace gangway::gan
