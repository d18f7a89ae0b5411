// SPDX-License-Identifier: MIT
// What happens to one picture: drawn by the key of its micro-batch and its number in it, so the
// same wherever that is computed. Distributions are those of StyleGAN2-ADA (Karras et al., 2020,
// "Training generative adversarial networks with limited data", appendix B, figure 16 and table of
// parameters). Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "gan/augment/wavelets.hpp"
#include "gan/random.hpp"
#include "job/augmentation.hpp"

namespace gangway::gan {

/// From a pixel of the result to the place in the picture that it shows, both in pixels from the
/// picture's centre: x' = xx x + xy y + x0, y' = yx x + yy y + y0.
struct Affine {
  double xx = 1.0;
  double xy = 0.0;
  double x0 = 0.0;
  double yx = 0.0;
  double yy = 1.0;
  double y0 = 0.0;
  bool operator==(const Affine&) const = default;
};

/// First `last`, then `first` to what comes out: the matrix product first * last.
[[nodiscard]] Affine product(const Affine& first, const Affine& last);

/// Rows of 3 gains and a shift: red, green and blue of the result by those of the picture.
using ColorMatrix = std::array<std::array<double, 4>, 3>;
inline constexpr ColorMatrix kSameColors = {
    {{1.0, 0.0, 0.0, 0.0}, {0.0, 1.0, 0.0, 0.0}, {0.0, 0.0, 1.0, 0.0}}};

/// Centre of the square that is blacked out, in sides of the picture.
struct Cutout {
  double x = 0.5;
  double y = 0.5;
  bool operator==(const Cutout&) const = default;
};
inline constexpr double kCutoutSide = 0.5;  ///< of the square, in sides of the picture

struct DrawnAugmentation {
  Affine geometry;
  bool moves_pixels = false;  ///< to places of others: `geometry` is not the identity
  bool resamples = false;     ///< not even to those
  ColorMatrix colors = kSameColors;
  bool changes_colors = false;
  std::array<double, kNumBands> gains = {1.0, 1.0, 1.0, 1.0};  ///< by band of frequencies
  bool filters = false;
  double noise = 0.0;  ///< its standard deviation
  std::optional<Cutout> cutout;
};

/// Of a picture of `side` pixels.
struct PictureShape {
  std::int64_t channels = 3;  ///< with one, hue and saturation have no meaning and are not drawn
  std::int64_t side = 32;
};

/// @param spec      its kinds, and their multipliers
/// @param strength  p of ADA
/// @param key       of the micro-batch; its `draw` and `block` are filled in here
/// @param picture   its number in the micro-batch
[[nodiscard]] DrawnAugmentation drawn_augmentation(const AugmentationSpec& spec, double strength,
                                                   const RandomKey& key, std::int64_t picture,
                                                   const PictureShape& shape);

/// The random numbers of one use and one picture: uniform ones, and four normal ones.
class PictureDraws {
 public:
  PictureDraws(RandomKey key, RandomDraw draw, std::int64_t picture);
  /// In [0, 1). @param which  0 to 3
  [[nodiscard]] double uniform(int which) const;
  [[nodiscard]] std::array<double, 4> normals() const;

 private:
  KeyedRandom random_;
  std::uint64_t first_;  // of the eight indices that are the picture's
};

}  // namespace gangway::gan
