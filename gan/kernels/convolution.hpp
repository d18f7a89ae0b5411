// SPDX-License-Identifier: MIT
// Convolutions whose gradients are derived well. A penalty asks for the derivative, by the weight,
// of the gradient of the input: LibTorch computes it by a convolution with a kernel as large as the
// picture, on an H100 a hundred times a forward pass. Here it is a weight's gradient, as of any
// convolution (and as in StyleGAN2's conv2d_gradfix). Compute thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gan/torch.hpp"

namespace gangway::gan {

/// One number a dimension of the picture.
struct ConvolutionPlaces {
  std::vector<std::int64_t> stride;
  std::vector<std::int64_t> padding;
  std::vector<std::int64_t> dilation;
  bool is_transposed = false;
  std::vector<std::int64_t> output_padding;  ///< of a transposed one
  std::int64_t groups = 1;
};

/// The bits of at::convolution, and of its first derivatives. Has all derivatives; any type and
/// device.
/// @param x       [N, in, …]
/// @param weight  [out, in / groups, …], of a transposed one [in, out / groups, …]
/// @param bias    [out] or nothing
[[nodiscard]] at::Tensor convolved(const at::Tensor& x, const at::Tensor& weight,
                                   const std::optional<at::Tensor>& bias,
                                   const ConvolutionPlaces& places);

/// From now on LibTorch derives every convolution of this process so, autocast or not.
/// @param key  whose: c10::DispatchKey::AutogradCUDA
void derive_convolutions_well(c10::DispatchKey key);

}  // namespace gangway::gan
