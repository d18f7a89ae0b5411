// SPDX-License-Identifier: MIT
// Draws a picture's augmentation from the key of its micro-batch and its number there. The result
// does not depend on device or worker. Distributions are those of StyleGAN2-ADA (Karras et al.,
// 2020, "Training generative adversarial networks with limited data", appendix B, figure 16 and
// table of parameters). Pure; one source for CPU and GPU, which differ only in the rounding of
// exp2. Included by .cpp and .cu files.
#pragma once

#include <cmath>
#include <cstdint>

#include "gan/augment/wavelets.hpp"
#include "gan/random.hpp"
#include "job/augmentation.hpp"

namespace gangway::gan {

// NOLINTBEGIN(modernize-avoid-c-arrays): device code has no std::array

/// Maps a pixel of the result to a position in the picture, in pixels from the picture's centre.
/// x' = xx x + xy y + x0; y' = yx x + yy y + y0.
struct Affine {
  double xx = 1.0;
  double xy = 0.0;
  double x0 = 0.0;
  double yx = 0.0;
  double yy = 1.0;
  double y0 = 0.0;
  bool operator==(const Affine&) const = default;
};

/// Composes maps: applies `last`, then `first`; the matrix product first * last.
[[nodiscard]] GANGWAY_HOST_DEVICE inline Affine product(const Affine& first, const Affine& last) {
  return {.xx = first.xx * last.xx + first.xy * last.yx,
          .xy = first.xx * last.xy + first.xy * last.yy,
          .x0 = first.xx * last.x0 + first.xy * last.y0 + first.x0,
          .yx = first.yx * last.xx + first.yy * last.yx,
          .yy = first.yx * last.xy + first.yy * last.yy,
          .y0 = first.yx * last.x0 + first.yy * last.y0 + first.y0};
}

/// Each row has 3 gains and a shift: the result's red, green and blue from the picture's.
struct ColorMatrix {
  double row[3][4] = {{1.0, 0.0, 0.0, 0.0}, {0.0, 1.0, 0.0, 0.0}, {0.0, 0.0, 1.0, 0.0}};
};

/// Centre of the blackened square, in sides of the picture.
struct Cutout {
  double x = 0.5;
  double y = 0.5;
};
inline constexpr double kCutoutSide = 0.5;  ///< of the square, in sides of the picture

/// Contains doubles only, so that each picture is a row of a tensor; flags are 1 or 0.
struct DrawnAugmentation {
  Affine geometry;
  double moves_pixels = 0.0;  ///< `geometry` is not the identity
  double resamples = 0.0;     ///< `geometry` does not map pixels to pixels
  ColorMatrix colors;
  double changes_colors = 0.0;
  double gains[kNumBands] = {1.0, 1.0, 1.0, 1.0};  ///< by band of frequencies
  double filters = 0.0;
  double noise = 0.0;  ///< standard deviation
  double cuts_out = 0.0;
  Cutout cutout;
};

/// Returns the index of a field in a struct of doubles.
template <typename Struct, typename Field>
[[nodiscard]] std::int64_t place_of(Field Struct::*field) {
  const Struct one;
  return reinterpret_cast<const double*>(&(one.*field)) - reinterpret_cast<const double*>(&one);
}

/// Channels and side of a picture.
struct PictureShape {
  std::int64_t channels = 3;  ///< with one channel, hue and saturation are not drawn
  std::int64_t side = 32;
};

/// Factor of p for each kind; 0 if the job does not use the kind.
struct AugmentChances {
  double of[kNumAugmentKinds] = {};
  [[nodiscard]] GANGWAY_HOST_DEVICE double operator[](AugmentKind kind) const {
    return of[static_cast<std::size_t>(kind)];
  }
};
[[nodiscard]] inline AugmentChances chances_of(const AugmentationSpec& spec) {
  AugmentChances chances;
  for (std::size_t kind = 0; kind < kNumAugmentKinds; ++kind) {
    const auto which = static_cast<AugmentKind>(kind);
    chances.of[kind] = spec.kinds().has(which) ? spec.multiplier(which) : 0.0;
  }
  return chances;
}

/// Random numbers of one use and one picture: four uniform and four normal. A tensor holds eight
/// numbers a picture: the uniform ones, then the normal ones.
class PictureDraws {
 public:
  GANGWAY_HOST_DEVICE PictureDraws(RandomKey key, RandomDraw draw, std::int64_t picture)
      : random_(placed_at(key, draw)), first_(8 * static_cast<std::uint64_t>(picture)) {}
  /// Returns a number in [0, 1). @param which  0 to 3
  [[nodiscard]] GANGWAY_HOST_DEVICE double uniform(int which) const {
    return static_cast<double>(random_.uniform(first_ + static_cast<std::uint64_t>(which)));
  }
  /// @param which  0 to 3
  [[nodiscard]] GANGWAY_HOST_DEVICE double normal(int which = 0) const {
    float four[4];
    random_.normal4(first_ / 4 + 1, four);
    return static_cast<double>(four[which]);
  }
  [[nodiscard]] GANGWAY_HOST_DEVICE static RandomKey placed_at(RandomKey key, RandomDraw draw) {
    key.draw = static_cast<std::int32_t>(draw);
    key.block = 0;
    return key;
  }

 private:
  KeyedRandom random_;
  std::uint64_t first_;  // first of the picture's eight indices
};

namespace detail {

// Standard deviations and maximum shift (Karras et al., 2020, appendix B).
inline constexpr double kShiftShare = 0.125;    // of the side, by whole pixels; uniform
inline constexpr double kScaleDeviation = 0.2;  // of the logarithm to base 2
inline constexpr double kStretchDeviation = 0.2;
inline constexpr double kFineShiftShare = 0.125;  // of the side; normal
inline constexpr double kBrightnessDeviation = 0.2;
inline constexpr double kContrastDeviation = 0.5;
inline constexpr double kSaturationDeviation = 1.0;
inline constexpr double kFilterDeviation = 1.0;
inline constexpr double kNoiseDeviation = 0.1;

/// Rotates by (cosine, sine): from right of the centre towards below it.
GANGWAY_HOST_DEVICE inline Affine turned(double cosine, double sine) {
  return {.xx = cosine, .xy = -sine, .yx = sine, .yy = cosine};
}

/// A uniform angle in (-pi, pi); `turn` in [0, 1) is its position in that range.
struct Angle {
  GANGWAY_HOST_DEVICE explicit Angle(double turn) {
    gangway::detail::sincos_of_turn(turn, &sine, &cosine);
    sine = -sine;  // half a turn back
    cosine = -cosine;
  }
  double sine = 0.0;
  double cosine = 0.0;
};

GANGWAY_HOST_DEVICE inline ColorMatrix product_of(const ColorMatrix& last,
                                                  const ColorMatrix& first) {
  ColorMatrix result;
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 4; ++column) {
      double sum = 0.0;
      for (int k = 0; k < 3; ++k) {
        sum += last.row[row][k] * first.row[k][column];
      }
      result.row[row][column] = sum;
    }
    result.row[row][3] += last.row[row][3];
  }
  return result;
}

GANGWAY_HOST_DEVICE inline ColorMatrix gains_and_shift(double gain, double shift) {
  return {{{gain, 0.0, 0.0, shift}, {0.0, gain, 0.0, shift}, {0.0, 0.0, gain, shift}}};
}

/// Scales a colour's part along the grey axis by `along` and the rest by `across`.
GANGWAY_HOST_DEVICE inline ColorMatrix around_greys(double along, double across) {
  ColorMatrix result;
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) {
      result.row[row][column] = (row == column ? across : 0.0) + (along - across) / 3.0;
    }
  }
  return result;
}

/// Rotates colours around the grey axis (Rodrigues' formula).
GANGWAY_HOST_DEVICE inline ColorMatrix hue_rotation(const Angle& angle) {
  ColorMatrix result = around_greys(1.0, angle.cosine);
  const double s = angle.sine / sqrt(3.0);
  result.row[0][1] -= s;
  result.row[0][2] += s;
  result.row[1][0] += s;
  result.row[1][2] -= s;
  result.row[2][0] -= s;
  result.row[2][1] += s;
  return result;
}

/// Draws the transformations of one picture in their order, each kind with probability p.
class Drawing {
 public:
  GANGWAY_HOST_DEVICE Drawing(const RandomKey& key, std::int64_t picture, const PictureShape& shape)
      : key_(key), picture_(picture), shape_(shape) {}

  [[nodiscard]] GANGWAY_HOST_DEVICE const DrawnAugmentation& drawn() const { return drawn_; }

  GANGWAY_HOST_DEVICE void draw_blits(double p) {
    if (const PictureDraws flip = draws(RandomDraw::kAugmentFlip);
        flip.uniform(0) < p && flip.uniform(1) >= 0.5) {
      move({.xx = -1.0});
    }
    if (const PictureDraws turn = draws(RandomDraw::kAugmentTurn); turn.uniform(0) < p) {
      constexpr double kSines[4] = {0.0, 1.0, 0.0, -1.0};
      if (const auto quarters = static_cast<int>(turn.uniform(1) * 4.0); quarters > 0) {
        move(turned(kSines[(quarters + 1) % 4], kSines[quarters]));
      }
    }
    if (const PictureDraws moved = draws(RandomDraw::kAugmentShift); moved.uniform(0) < p) {
      move({.x0 = -whole_way(moved.uniform(1)), .y0 = -whole_way(moved.uniform(2))});
    }
  }

  GANGWAY_HOST_DEVICE void draw_geometry(double p) {
    if (const PictureDraws scaled = draws(RandomDraw::kAugmentScale); scaled.uniform(0) < p) {
      const double factor = exp2(scaled.normal() * kScaleDeviation);
      resample({.xx = 1.0 / factor, .yy = 1.0 / factor});
    }
    rotate(RandomDraw::kAugmentRotation, p);
    if (const PictureDraws stretched = draws(RandomDraw::kAugmentStretching);
        stretched.uniform(0) < p) {
      const double factor = exp2(stretched.normal() * kStretchDeviation);
      resample({.xx = 1.0 / factor, .yy = factor});
    }
    rotate(RandomDraw::kAugmentLateRotation, p);
    if (const PictureDraws moved = draws(RandomDraw::kAugmentFineShift); moved.uniform(0) < p) {
      const double unit = kFineShiftShare * side();
      resample({.x0 = -moved.normal(0) * unit, .y0 = -moved.normal(1) * unit});
    }
  }

  GANGWAY_HOST_DEVICE void draw_colors(double p) {
    if (const PictureDraws lit = draws(RandomDraw::kAugmentBrightness); lit.uniform(0) < p) {
      recolor(gains_and_shift(1.0, lit.normal() * kBrightnessDeviation));
    }
    if (const PictureDraws contrast = draws(RandomDraw::kAugmentContrast);
        contrast.uniform(0) < p) {
      recolor(gains_and_shift(exp2(contrast.normal() * kContrastDeviation), 0.0));
    }
    if (const PictureDraws flip = draws(RandomDraw::kAugmentLumaFlip);
        flip.uniform(0) < p && flip.uniform(1) >= 0.5) {
      recolor(around_greys(-1.0, 1.0));
    }
    if (shape_.channels == 1) {
      return;
    }
    if (const PictureDraws hue = draws(RandomDraw::kAugmentHue); hue.uniform(0) < p) {
      recolor(hue_rotation(Angle(hue.uniform(1))));
    }
    if (const PictureDraws saturated = draws(RandomDraw::kAugmentSaturation);
        saturated.uniform(0) < p) {
      recolor(around_greys(1.0, exp2(saturated.normal() * kSaturationDeviation)));
    }
  }

  GANGWAY_HOST_DEVICE void draw_filter(double p) {
    // Expected share of a picture's power in each band, for a 1 / frequency^2 spectrum.
    constexpr double kPower[kNumBands] = {10.0 / 13, 1.0 / 13, 1.0 / 13, 1.0 / 13};
    const PictureDraws filtered = draws(RandomDraw::kAugmentFilter);
    for (int band = 0; band < kNumBands; ++band) {
      if (filtered.uniform(band) >= p) {
        continue;
      }
      const double gain = exp2(filtered.normal(band) * kFilterDeviation);
      // Keeps the picture's expected power.
      const double power = 1.0 + kPower[band] * (gain * gain - 1.0);
      for (int other = 0; other < kNumBands; ++other) {
        drawn_.gains[other] *= (other == band ? gain : 1.0) / sqrt(power);
      }
      drawn_.filters = 1.0;
    }
  }

  GANGWAY_HOST_DEVICE void draw_noise(double p) {
    if (const PictureDraws noisy = draws(RandomDraw::kAugmentNoise); noisy.uniform(0) < p) {
      drawn_.noise = fabs(noisy.normal()) * kNoiseDeviation;
    }
  }

  GANGWAY_HOST_DEVICE void draw_cutout(double p) {
    if (const PictureDraws cut = draws(RandomDraw::kAugmentCutout); cut.uniform(0) < p) {
      drawn_.cutout = {cut.uniform(1), cut.uniform(2)};
      drawn_.cuts_out = 1.0;
    }
  }

 private:
  [[nodiscard]] GANGWAY_HOST_DEVICE PictureDraws draws(RandomDraw draw) const {
    return {key_, draw, picture_};
  }
  [[nodiscard]] GANGWAY_HOST_DEVICE double side() const { return static_cast<double>(shape_.side); }
  [[nodiscard]] GANGWAY_HOST_DEVICE double whole_way(double uniform) const {
    return nearbyint((2.0 * uniform - 1.0) * kShiftShare * side());
  }
  GANGWAY_HOST_DEVICE void move(const Affine& inverse) {
    drawn_.geometry = product(drawn_.geometry, inverse);
    drawn_.moves_pixels = 1.0;
  }
  GANGWAY_HOST_DEVICE void resample(const Affine& inverse) {
    move(inverse);
    drawn_.resamples = 1.0;
  }
  GANGWAY_HOST_DEVICE void rotate(RandomDraw draw, double p) {
    // At least one of two rotations, before and after the stretching, has probability p.
    const double each = 1.0 - sqrt(fmin(fmax(1.0 - p, 0.0), 1.0));
    if (const PictureDraws rotated = draws(draw); rotated.uniform(0) < each) {
      const Angle angle(rotated.uniform(1));
      resample(turned(angle.cosine, angle.sine));
    }
  }
  GANGWAY_HOST_DEVICE void recolor(const ColorMatrix& last) {
    drawn_.colors = product_of(last, drawn_.colors);
    drawn_.changes_colors = 1.0;
  }

  const RandomKey& key_;
  std::int64_t picture_;
  const PictureShape& shape_;
  DrawnAugmentation drawn_;
};

}  // namespace detail

/// @param strength  p of ADA
/// @param key       of the micro-batch; sets its `draw` and `block`
/// @param picture   index in the micro-batch
[[nodiscard]] GANGWAY_HOST_DEVICE inline DrawnAugmentation drawn_augmentation(
    const AugmentChances& chances, double strength, const RandomKey& key, std::int64_t picture,
    const PictureShape& shape) {
  using enum AugmentKind;
  detail::Drawing drawing(key, picture, shape);
  drawing.draw_blits(strength * chances[kBlit]);
  drawing.draw_geometry(strength * chances[kGeometry]);
  drawing.draw_colors(strength * chances[kColor]);
  drawing.draw_filter(strength * chances[kFilter]);
  drawing.draw_noise(strength * chances[kNoise]);
  drawing.draw_cutout(strength * chances[kCutout]);
  return drawing.drawn();
}

// NOLINTEND(modernize-avoid-c-arrays)

}  // namespace gangway::gan
