// SPDX-License-Identifier: MIT
#include "gan/augment/drawn_augmentation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace gangway::gan {
namespace {

// Karras et al., 2020, appendix B: standard deviations, and the longest way.
constexpr double kShiftShare = 0.125;    // of the side, by whole pixels; uniform
constexpr double kScaleDeviation = 0.2;  // of the logarithm to base 2
constexpr double kStretchDeviation = 0.2;
constexpr double kFineShiftShare = 0.125;  // of the side; normal
constexpr double kBrightnessDeviation = 0.2;
constexpr double kContrastDeviation = 0.5;
constexpr double kSaturationDeviation = 1.0;
constexpr double kFilterDeviation = 1.0;
constexpr double kNoiseDeviation = 0.1;

/// Turns by (cosine, sine) what is right of the centre towards what is below it.
Affine turned(double cosine, double sine) {
  return {.xx = cosine, .xy = -sine, .yx = sine, .yy = cosine};
}

Affine moved_by(double x, double y) { return {.x0 = x, .y0 = y}; }

/// By an angle, uniform in (-pi, pi), of which `turn` in [0, 1) is the share.
struct Angle {
  explicit Angle(double turn) {
    detail::sincos_of_turn(turn, &sine, &cosine);
    sine = -sine;  // half a turn back
    cosine = -cosine;
  }
  double sine = 0.0;
  double cosine = 0.0;
};

ColorMatrix product_of(const ColorMatrix& last, const ColorMatrix& first) {
  ColorMatrix result{};
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t column = 0; column < 4; ++column) {
      for (std::size_t k = 0; k < 3; ++k) {
        result[row][column] += last[row][k] * first[k][column];
      }
    }
    result[row][3] += last[row][3];
  }
  return result;
}

ColorMatrix gains_and_shift(double gain, double shift) {
  return {{{gain, 0.0, 0.0, shift}, {0.0, gain, 0.0, shift}, {0.0, 0.0, gain, shift}}};
}

/// `along` times what of a colour lies on the axis of greys, `across` times the rest.
ColorMatrix around_greys(double along, double across) {
  ColorMatrix result{};
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t column = 0; column < 3; ++column) {
      result[row][column] = (row == column ? across : 0.0) + (along - across) / 3.0;
    }
  }
  return result;
}

/// A rotation around the axis of greys (Rodrigues' formula).
ColorMatrix hue_rotation(const Angle& angle) {
  ColorMatrix result = around_greys(1.0, angle.cosine);
  const double s = angle.sine / std::sqrt(3.0);
  result[0][1] -= s;
  result[0][2] += s;
  result[1][0] += s;
  result[1][2] -= s;
  result[2][0] -= s;
  result[2][1] += s;
  return result;
}

/// Draws for one picture, in the order in which its transformations are done.
class Drawing {
 public:
  Drawing(const RandomKey& key, std::int64_t picture, const PictureShape& shape)
      : key_(key), picture_(picture), shape_(shape) {}

  /// Probability of each of those that are drawn from now on.
  void set_strength(double strength) { strength_ = strength; }
  void draw_blits();
  void draw_geometry();
  void draw_colors();
  void draw_filter();
  void draw_noise();
  void draw_cutout();
  [[nodiscard]] const DrawnAugmentation& drawn() const { return drawn_; }

 private:
  [[nodiscard]] PictureDraws draws(RandomDraw draw) const { return {key_, draw, picture_}; }
  [[nodiscard]] double side() const { return static_cast<double>(shape_.side); }
  void move(const Affine& inverse) {
    drawn_.geometry = product(drawn_.geometry, inverse);
    drawn_.moves_pixels = true;
  }
  void resample(const Affine& inverse) {
    move(inverse);
    drawn_.resamples = true;
  }
  void rotate(RandomDraw draw) {
    // One of two, before and behind the stretching, is done with probability p.
    const double each = 1.0 - std::sqrt(std::clamp(1.0 - strength_, 0.0, 1.0));
    if (const PictureDraws rotated = draws(draw); rotated.uniform(0) < each) {
      const Angle angle(rotated.uniform(1));
      resample(turned(angle.cosine, angle.sine));
    }
  }
  void recolor(const ColorMatrix& last) {
    drawn_.colors = product_of(last, drawn_.colors);
    drawn_.changes_colors = true;
  }

  double strength_ = 0.0;
  const RandomKey& key_;
  std::int64_t picture_;
  const PictureShape& shape_;
  DrawnAugmentation drawn_;
};

void Drawing::draw_blits() {
  if (const PictureDraws flip = draws(RandomDraw::kAugmentFlip);
      flip.uniform(0) < strength_ && flip.uniform(1) >= 0.5) {
    move({.xx = -1.0});
  }
  if (const PictureDraws turn = draws(RandomDraw::kAugmentTurn); turn.uniform(0) < strength_) {
    constexpr std::array<double, 4> kSines = {0.0, 1.0, 0.0, -1.0};
    if (const auto quarters = static_cast<std::size_t>(turn.uniform(1) * 4.0); quarters > 0) {
      move(turned(kSines[(quarters + 1) % 4], kSines[quarters]));
    }
  }
  if (const PictureDraws moved = draws(RandomDraw::kAugmentShift); moved.uniform(0) < strength_) {
    const auto way = [&](int which) {
      return std::nearbyint((2.0 * moved.uniform(which) - 1.0) * kShiftShare * side());
    };
    move(moved_by(-way(1), -way(2)));
  }
}

void Drawing::draw_geometry() {
  if (const PictureDraws scaled = draws(RandomDraw::kAugmentScale); scaled.uniform(0) < strength_) {
    const double factor = std::exp2(scaled.normals()[0] * kScaleDeviation);
    resample({.xx = 1.0 / factor, .yy = 1.0 / factor});
  }
  rotate(RandomDraw::kAugmentRotation);
  if (const PictureDraws stretched = draws(RandomDraw::kAugmentStretching);
      stretched.uniform(0) < strength_) {
    const double factor = std::exp2(stretched.normals()[0] * kStretchDeviation);
    resample({.xx = 1.0 / factor, .yy = factor});
  }
  rotate(RandomDraw::kAugmentLateRotation);
  if (const PictureDraws moved = draws(RandomDraw::kAugmentFineShift);
      moved.uniform(0) < strength_) {
    const double unit = kFineShiftShare * side();
    resample(moved_by(-moved.normals()[0] * unit, -moved.normals()[1] * unit));
  }
}

void Drawing::draw_colors() {
  if (const PictureDraws lit = draws(RandomDraw::kAugmentBrightness); lit.uniform(0) < strength_) {
    recolor(gains_and_shift(1.0, lit.normals()[0] * kBrightnessDeviation));
  }
  if (const PictureDraws contrast = draws(RandomDraw::kAugmentContrast);
      contrast.uniform(0) < strength_) {
    recolor(gains_and_shift(std::exp2(contrast.normals()[0] * kContrastDeviation), 0.0));
  }
  if (const PictureDraws flip = draws(RandomDraw::kAugmentLumaFlip);
      flip.uniform(0) < strength_ && flip.uniform(1) >= 0.5) {
    recolor(around_greys(-1.0, 1.0));
  }
  if (shape_.channels == 1) {
    return;
  }
  if (const PictureDraws hue = draws(RandomDraw::kAugmentHue); hue.uniform(0) < strength_) {
    recolor(hue_rotation(Angle(hue.uniform(1))));
  }
  if (const PictureDraws saturated = draws(RandomDraw::kAugmentSaturation);
      saturated.uniform(0) < strength_) {
    recolor(around_greys(1.0, std::exp2(saturated.normals()[0] * kSaturationDeviation)));
  }
}

void Drawing::draw_filter() {
  const PictureDraws filtered = draws(RandomDraw::kAugmentFilter);
  for (std::size_t band = 0; band < drawn_.gains.size(); ++band) {
    if (filtered.uniform(static_cast<int>(band)) >= strength_) {
      continue;
    }
    const double gain = std::exp2(filtered.normals()[band] * kFilterDeviation);
    // The picture's power stays what it is to be expected.
    const double power = 1.0 + kBandPower[band] * (gain * gain - 1.0);
    for (std::size_t other = 0; other < drawn_.gains.size(); ++other) {
      drawn_.gains[other] *= (other == band ? gain : 1.0) / std::sqrt(power);
    }
    drawn_.filters = true;
  }
}

void Drawing::draw_noise() {
  if (const PictureDraws noisy = draws(RandomDraw::kAugmentNoise); noisy.uniform(0) < strength_) {
    drawn_.noise = std::abs(noisy.normals()[0]) * kNoiseDeviation;
  }
}

void Drawing::draw_cutout() {
  if (const PictureDraws cut = draws(RandomDraw::kAugmentCutout); cut.uniform(0) < strength_) {
    drawn_.cutout = Cutout{cut.uniform(1), cut.uniform(2)};
  }
}

}  // namespace

Affine product(const Affine& first, const Affine& last) {
  return {.xx = first.xx * last.xx + first.xy * last.yx,
          .xy = first.xx * last.xy + first.xy * last.yy,
          .x0 = first.xx * last.x0 + first.xy * last.y0 + first.x0,
          .yx = first.yx * last.xx + first.yy * last.yx,
          .yy = first.yx * last.xy + first.yy * last.yy,
          .y0 = first.yx * last.x0 + first.yy * last.y0 + first.y0};
}

PictureDraws::PictureDraws(RandomKey key, RandomDraw draw, std::int64_t picture)
    : random_([&] {
        key.draw = static_cast<std::int32_t>(draw);
        key.block = 0;
        return KeyedRandom(key);
      }()),
      first_(8 * static_cast<std::uint64_t>(picture)) {}

double PictureDraws::uniform(int which) const {
  return static_cast<double>(random_.uniform(first_ + static_cast<std::uint64_t>(which)));
}

std::array<double, 4> PictureDraws::normals() const {
  std::array<float, 4> four{};
  random_.normal4(first_ / 4 + 1, four.data());
  return {static_cast<double>(four[0]), static_cast<double>(four[1]), static_cast<double>(four[2]),
          static_cast<double>(four[3])};
}

DrawnAugmentation drawn_augmentation(const AugmentationSpec& spec, double strength,
                                     const RandomKey& key, std::int64_t picture,
                                     const PictureShape& shape) {
  using enum AugmentKind;
  constexpr std::array<std::pair<AugmentKind, void (Drawing::*)()>, 6> kInOrder = {
      {{kBlit, &Drawing::draw_blits},
       {kGeometry, &Drawing::draw_geometry},
       {kColor, &Drawing::draw_colors},
       {kFilter, &Drawing::draw_filter},
       {kNoise, &Drawing::draw_noise},
       {kCutout, &Drawing::draw_cutout}}};
  Drawing drawing(key, picture, shape);
  for (const auto& [kind, draw] : kInOrder) {
    if (spec.kinds().has(kind)) {
      drawing.set_strength(strength * spec.multiplier(kind));
      (drawing.*draw)();
    }
  }
  return drawing.drawn();
}

}  // namespace gangway::gan
