// SPDX-License-Identifier: MIT
// The transformations of augmentation, as functions of tensors [K, C, S, S] of any floating type,
// square, C 1 or 3. Each is affine in the pictures. On CPUs, gradients sum in one order. On GPUs,
// filters are matrix products and gradients of pixels are exact sums
// (gan/augment/exact_gather.hpp). Compute thread.
#pragma once

#include <cstdint>

#include "gan/augment/drawn_augmentation.hpp"
#include "gan/torch.hpp"

namespace gangway::gan {

/// Filters for pictures of one side, on one device (gan/augment/wavelets.hpp).
struct AxisFilters {
  AxisFilters(std::int64_t side, at::Device device);
  std::int64_t side;
  at::Tensor up;  ///< all tensors are float64
  at::Tensor down;
  at::Tensor bands;  ///< [kNumBands, S * S]
};

/// Moves pixels: result i of each channel is pixel `from`[k][i]. @param from  int64 [K, S * S]
[[nodiscard]] at::Tensor rearranged(const at::Tensor& pictures, const at::Tensor& from);

// Parameters have one row for each picture, float64, on the pictures' device: the fields of
// DrawnAugmentation, in order. Nothing here reads them back, so that a GPU can replay the
// operations for other draws.

/// Moves pictures by whole pixels, flips them or turns them by quarters; exact, with reflection
/// beyond the edges. @param geometry  [K, 6]: Affine. @pre each maps pixels to pixels
[[nodiscard]] at::Tensor blitted(const at::Tensor& pictures, const at::Tensor& geometry);

/// Applies affine maps: upsamples by sym6, interpolates linearly between four neighbours,
/// downsamples by sym6 (Karras et al., 2020, appendix B). Reflects beyond the edges.
/// @param geometry  [K, 6]: Affine
[[nodiscard]] at::Tensor resampled(const at::Tensor& pictures, const at::Tensor& geometry,
                                   const AxisFilters& filters);

/// Recolours; one channel gets the mean of three. @param colors  [K, 12]: ColorMatrix
[[nodiscard]] at::Tensor recolored(const at::Tensor& pictures, const at::Tensor& colors);

/// Scales each frequency band by its gain, on both axes. @param gains  [K, kNumBands]
[[nodiscard]] at::Tensor band_filtered(const at::Tensor& pictures, const at::Tensor& gains,
                                       const AxisFilters& filters);

/// Sets a square of kCutoutSide around each centre to zero. @param centres  [K, 2]: Cutout
[[nodiscard]] at::Tensor cut_out(const at::Tensor& pictures, const at::Tensor& centres);

}  // namespace gangway::gan
