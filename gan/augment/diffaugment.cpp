// SPDX-License-Identifier: MIT
#include "gan/augment/diffaugment.hpp"

#include "gan/augment/drawn_augmentation.hpp"
#include "gan/augment/picture_transforms.hpp"
#include "gan/random_tensors.hpp"

namespace gangway::gan {
namespace {

/// The uniform numbers of PictureDraws, one for each picture: float64 [N, 1, 1, 1].
class DrawnUniforms {
 public:
  DrawnUniforms(const at::Tensor& pictures, const RandomKey& key, RandomDraw draw)
      : uniforms_(keyed_uniform(PictureDraws::placed_at(key, draw), {pictures.size(0), 8},
                                pictures.device())) {}
  [[nodiscard]] at::Tensor number(std::int64_t which) const {
    return uniforms_.select(1, which).to(at::kDouble).reshape({-1, 1, 1, 1});
  }
  /// Returns uniform integers in [low, low + count).
  [[nodiscard]] at::Tensor whole(std::int64_t which, std::int64_t low, std::int64_t count) const {
    return (number(which) * static_cast<double>(count)).to(at::kLong).clamp_max(count - 1) + low;
  }

 private:
  at::Tensor uniforms_;
};

/// Draws one number a picture, [N, 1, 1, 1]: low + uniform * range.
at::Tensor drawn_numbers(const at::Tensor& pictures, const RandomKey& key, RandomDraw draw,
                         double low, double range) {
  return (DrawnUniforms(pictures, key, draw).number(0) * range + low).to(pictures.scalar_type());
}

/// Returns 0, 1, …, side - 1: int64 [1, 1, 1, S].
at::Tensor pixels_of(const at::Tensor& pictures) {
  const std::int64_t side = pictures.size(2);
  return at::arange(side, at::device(pictures.device()).dtype(at::kLong)).reshape({1, 1, 1, side});
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

at::Tensor translated(const at::Tensor& pictures, const RandomKey& key) {
  const std::int64_t side = pictures.size(2);
  const std::int64_t most = (side + 4) / 8;  // an eighth, rounded
  const DrawnUniforms draws(pictures, key, RandomDraw::kAugmentShift);
  const at::Tensor x = pixels_of(pictures) + draws.whole(0, -most, 2 * most + 1);
  const at::Tensor y = pixels_of(pictures).transpose(2, 3) + draws.whole(1, -most, 2 * most + 1);
  const auto is_inside = [side](const at::Tensor& place) { return (place >= 0) & (place < side); };
  const at::Tensor is_there = is_inside(x) & is_inside(y);
  const at::Tensor from = (y * side + x) * is_there;
  return rearranged(pictures, from.flatten(1)) * is_there.to(pictures.scalar_type());
}

at::Tensor with_square_cut_out(const at::Tensor& pictures, const RandomKey& key) {
  const std::int64_t side = pictures.size(2);
  const std::int64_t size = (side + 1) / 2;
  const DrawnUniforms draws(pictures, key, RandomDraw::kAugmentCutout);
  // If the square leaves the picture, its outer part falls on the row or column at the edge.
  const auto is_cut = [&](const at::Tensor& pixel, std::int64_t which) {
    const at::Tensor first = draws.whole(which, 0, side + 1 - size % 2) - size / 2;
    return (pixel >= first.clamp(0, side - 1)) & (pixel <= (first + size - 1).clamp(0, side - 1));
  };
  const at::Tensor x = pixels_of(pictures);
  const at::Tensor is_in_square = is_cut(x.transpose(2, 3), 1) & is_cut(x, 0);
  return pictures * (~is_in_square).to(pictures.scalar_type());
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
