// SPDX-License-Identifier: MIT
// What augmentation does to pictures, as functions of tensors: [K, C, S, S] of any floating type,
// square, C 1 or 3. Each is an affine function of the pictures and has gradients. Sums have one
// order on CPUs and, with LibTorch's deterministic algorithms, on GPUs: filters are matrix
// products, places in a picture are taken by at::gather. Compute thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

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

/// Pictures moved by whole pixels, flipped or turned by quarters: exact, by reflection beyond their
/// edges. @pre every `inverses` leads from pixels to pixels
[[nodiscard]] at::Tensor blitted(const at::Tensor& pictures, const std::vector<Affine>& inverses);

/// Pictures under affine transformations: twice as fine by sym6, there linear between four
/// neighbours, back by sym6 (Karras et al., 2020, appendix B). By reflection beyond their edges.
[[nodiscard]] at::Tensor resampled(const at::Tensor& pictures, const std::vector<Affine>& inverses,
                                   const AxisFilters& filters);

/// With one channel the mean of what the three would be.
[[nodiscard]] at::Tensor recolored(const at::Tensor& pictures,
                                   const std::vector<ColorMatrix>& colors);

/// Each band of frequencies times its gain, along both axes.
[[nodiscard]] at::Tensor band_filtered(const at::Tensor& pictures,
                                       const std::vector<std::array<double, kNumBands>>& gains,
                                       const AxisFilters& filters);

/// A square of kCutoutSide around each centre is zero.
[[nodiscard]] at::Tensor cut_out(const at::Tensor& pictures, const std::vector<Cutout>& cutouts);

}  // namespace gangway::gan
