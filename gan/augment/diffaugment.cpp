// SPDX-License-Identifier: MIT
#include "gan/augment/diffaugment.hpp"

#include <algorithm>
#include <vector>

#include "gan/augment/drawn_augmentation.hpp"
#include "gan/augment/picture_transforms.hpp"

namespace gangway::gan {
namespace {

/// One number a picture, [N, 1, 1, 1]: low + uniform * range.
at::Tensor drawn_numbers(const at::Tensor& pictures, const RandomKey& key, RandomDraw draw,
                         double low, double range) {
  std::vector<double> values;
  for (std::int64_t picture = 0; picture < pictures.size(0); ++picture) {
    values.push_back(low + PictureDraws(key, draw, picture).uniform(0) * range);
  }
  return at::tensor(values).reshape({-1, 1, 1, 1}).to(pictures.options());
}

at::Tensor with_random_colors(const at::Tensor& pictures, const RandomKey& key) {
  const at::Tensor lit =
      pictures + drawn_numbers(pictures, key, RandomDraw::kAugmentBrightness, -0.5, 1.0);
  const at::Tensor grey = lit.mean(1, /*keepdim=*/true);
  const at::Tensor saturated =
      (lit - grey) * drawn_numbers(pictures, key, RandomDraw::kAugmentSaturation, 0.0, 2.0) + grey;
  const at::Tensor mean = saturated.mean({1, 2, 3}, /*keepdim=*/true);
  return (saturated - mean) * drawn_numbers(pictures, key, RandomDraw::kAugmentContrast, 0.5, 1.0) +
         mean;
}

/// Whole numbers from `low`, one of `count`.
std::int64_t drawn_whole(const PictureDraws& draws, int which, std::int64_t low,
                         std::int64_t count) {
  return low + std::min(count - 1, static_cast<std::int64_t>(draws.uniform(which) *
                                                             static_cast<double>(count)));
}

at::Tensor translated(const at::Tensor& pictures, const RandomKey& key) {
  const std::int64_t side = pictures.size(2);
  const std::int64_t most = (side + 4) / 8;  // an eighth, to the nearest
  const at::Tensor from = at::empty({pictures.size(0), side * side}, at::kLong);
  const at::Tensor kept = at::empty({pictures.size(0), 1, side, side}, at::kFloat);
  auto* next = from.mutable_data_ptr<std::int64_t>();
  auto* keep = kept.mutable_data_ptr<float>();
  for (std::int64_t picture = 0; picture < pictures.size(0); ++picture) {
    const PictureDraws draws(key, RandomDraw::kAugmentShift, picture);
    const std::int64_t right = drawn_whole(draws, 0, -most, 2 * most + 1);
    const std::int64_t down = drawn_whole(draws, 1, -most, 2 * most + 1);
    for (std::int64_t row = 0; row < side; ++row) {
      for (std::int64_t column = 0; column < side; ++column) {
        const std::int64_t y = row + down;
        const std::int64_t x = column + right;
        const bool is_there = y >= 0 && y < side && x >= 0 && x < side;
        *next++ = is_there ? y * side + x : 0;
        *keep++ = is_there ? 1.0F : 0.0F;
      }
    }
  }
  return rearranged(pictures, from.to(pictures.device())) * kept.to(pictures.options());
}

at::Tensor with_square_cut_out(const at::Tensor& pictures, const RandomKey& key) {
  const std::int64_t side = pictures.size(2);
  const std::int64_t size = (side + 1) / 2;
  const at::Tensor kept = at::empty({pictures.size(0), 1, side, side}, at::kFloat);
  auto* keep = kept.mutable_data_ptr<float>();
  for (std::int64_t picture = 0; picture < pictures.size(0); ++picture) {
    const PictureDraws draws(key, RandomDraw::kAugmentCutout, picture);
    const auto begin = [&](int which) {
      return drawn_whole(draws, which, 0, side + 1 - size % 2) - size / 2;
    };
    const std::int64_t left = begin(0);
    const std::int64_t top = begin(1);
    // Where the square leaves the picture, the row or column at the edge stands for the rest of it.
    const auto is_cut = [&](std::int64_t pixel, std::int64_t first) {
      const std::int64_t low = std::clamp<std::int64_t>(first, 0, side - 1);
      const std::int64_t high = std::clamp<std::int64_t>(first + size - 1, 0, side - 1);
      return pixel >= low && pixel <= high;
    };
    for (std::int64_t row = 0; row < side; ++row) {
      for (std::int64_t column = 0; column < side; ++column) {
        *keep++ = is_cut(row, top) && is_cut(column, left) ? 0.0F : 1.0F;
      }
    }
  }
  return pictures * kept.to(pictures.options());
}

}  // namespace

at::Tensor diff_augmented(const at::Tensor& pictures, AugmentKinds kinds, const RandomKey& key) {
  at::Tensor result = pictures;
  if (kinds.has(AugmentKind::kColor)) {
    result = with_random_colors(result, key);
  }
  if (kinds.has(AugmentKind::kTranslation)) {
    result = translated(result, key);
  }
  if (kinds.has(AugmentKind::kCutout)) {
    result = with_square_cut_out(result, key);
  }
  return result;
}

}  // namespace gangway::gan
