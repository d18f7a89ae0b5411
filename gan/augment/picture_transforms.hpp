// SPDX-License-Identifier: MIT
// What augmentation does to pictures, as functions of tensors: [K, C, S, S] of any floating type,
// square, C 1 or 3. Each is an affine function of the pictures and has gradients, whose sums have
// one order on CPUs. On GPUs filters are matrix products, and gradients of pixels are exact sums
// (gan/augment/exact_gather.hpp). Compute thread.
#pragma once

#include <cstdint>

#include "gan/augment/drawn_augmentation.hpp"
#include "gan/torch.hpp"

namespace gangway::gan {

/// The filters of pictures of one side, on one device (gan/augment/wavelets.hpp).
struct AxisFilters {
  AxisFilters(std::int64_t side, at::Device device);
  std::int64_t side;
  at::Tensor up;  ///< float64, as the others
  at::Tensor down;
  at::Tensor bands;  ///< [kNumBands, S * S]
};

/// Pixel i of each channel is pixel `from`[k][i] of the picture. @param from  int64 [K, S * S]
[[nodiscard]] at::Tensor rearranged(const at::Tensor& pictures, const at::Tensor& from);

// What is drawn for the pictures is a row of numbers for each, float64, on their device: the fields
// of DrawnAugmentation, in their order. Nothing here looks at them, so a device that is given these
// operations once can repeat them for other draws.

/// Pictures moved by whole pixels, flipped or turned by quarters: exact, by reflection beyond their
/// edges. @param geometry  [K, 6]: Affine. @pre each leads from pixels to pixels
[[nodiscard]] at::Tensor blitted(const at::Tensor& pictures, const at::Tensor& geometry);

/// Pictures under affine transformations: twice as fine by sym6, there linear between four
/// neighbours, back by sym6 (Karras et al., 2020, appendix B). By reflection beyond their edges.
/// @param geometry  [K, 6]: Affine
[[nodiscard]] at::Tensor resampled(const at::Tensor& pictures, const at::Tensor& geometry,
                                   const AxisFilters& filters);

/// With one channel the mean of what the three would be. @param colors  [K, 12]: ColorMatrix
[[nodiscard]] at::Tensor recolored(const at::Tensor& pictures, const at::Tensor& colors);

/// Each band of frequencies times its gain, along both axes. @param gains  [K, kNumBands]
[[nodiscard]] at::Tensor band_filtered(const at::Tensor& pictures, const at::Tensor& gains,
                                       const AxisFilters& filters);

/// A square of kCutoutSide around each centre is zero. @param centres  [K, 2]: Cutout
[[nodiscard]] at::Tensor cut_out(const at::Tensor& pictures, const at::Tensor& centres);

}  // namespace gangway::gan
