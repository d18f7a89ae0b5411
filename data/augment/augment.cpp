// SPDX-License-Identifier: MIT
#include "data/augment/augment.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "gan/random.hpp"

namespace gangway::data {
namespace {

constexpr std::size_t kTaps = 4;  // of a cubic filter

KeyedRandom random_of(const SampleId& sample, RandomDraw draw) {
  return KeyedRandom(RandomKey{.seed = sample.seed,
                               .step = sample.cursor,
                               .phase = kPhaseData,
                               .draw = static_cast<std::int32_t>(draw)});
}

/// Returns a uniform number in [-1, 1).
double signed_uniform(const KeyedRandom& random, std::uint64_t index) {
  return 2.0 * static_cast<double>(random.uniform(index)) - 1.0;
}

/// The pixels along one axis that contribute to a value.
struct Taps {
  std::array<std::size_t, kTaps> places;
  std::array<float, kTaps> weights;
};

/// Returns the index in [0, size) of `place` in the row reflected at both ends: … 1 0 | 0 1 2 ….
std::size_t reflected(std::int64_t place, std::int64_t size) {
  const std::int64_t period = 2 * size;
  const std::int64_t within = ((place % period) + period) % period;
  return static_cast<std::size_t>(within < size ? within : period - 1 - within);
}

/// Returns the taps of Keys' cubic (a = -1/2) at `at`; pixel centres are at integers.
Taps taps_at(double at, int size) {
  const double floor = std::floor(at);
  const double t = at - floor;
  const auto first = static_cast<std::int64_t>(floor) - 1;
  Taps taps{};
  for (std::size_t i = 0; i < kTaps; ++i) {
    taps.places[i] = reflected(first + static_cast<std::int64_t>(i), size);
  }
  const std::array<double, kTaps> weights{
      ((-0.5 * t + 1.0) * t - 0.5) * t, (1.5 * t - 2.5) * t * t + 1.0,
      ((-1.5 * t + 2.0) * t + 0.5) * t, (0.5 * t - 0.5) * t * t};
  std::ranges::transform(weights, taps.weights.begin(),
                         [](double weight) { return static_cast<float>(weight); });
  return taps;
}

/// Sums rows from top to bottom, each from left to right.
float weighted_sum(const float* plane, std::size_t width, const Taps& down, const Taps& across) {
  float sum = 0.0F;
  for (std::size_t i = 0; i < kTaps; ++i) {
    const float* row = plane + down.places[i] * width;
    float of_row = 0.0F;
    for (std::size_t j = 0; j < kTaps; ++j) {
      of_row += across.weights[j] * row[across.places[j]];
    }
    sum += down.weights[i] * of_row;
  }
  return std::clamp(sum, -1.0F, 1.0F);
}

float held(float shade) { return std::clamp(shade, 0.0F, 1.0F); }

/// A picture's shades, pixel by pixel.
class Shades {
 public:
  explicit Shades(const PicturePlanes& picture)
      : values_(picture.values),
        plane_(static_cast<std::size_t>(picture.height) * static_cast<std::size_t>(picture.width)),
        is_coloured_(picture.channels == 3) {
    for (float& value : values_) {
      value = (value + 1.0F) * 0.5F;
    }
  }
  void finish() {
    for (float& value : values_) {
      value = 2.0F * value - 1.0F;
    }
  }
  [[nodiscard]] bool is_coloured() const { return is_coloured_; }
  void brighten(float factor) {
    for (float& value : values_) {
      value = held(factor * value);
    }
  }
  void spread_from_mean(float factor) {
    double sum = 0.0;
    for (std::size_t i = 0; i < plane_; ++i) {
      sum += static_cast<double>(luma(i));
    }
    const auto mean = static_cast<float>(sum / static_cast<double>(plane_));
    for (float& value : values_) {
      value = held(factor * value + (1.0F - factor) * mean);
    }
  }
  void spread_from_gray(float factor) {
    for (std::size_t i = 0; i < plane_; ++i) {
      const float gray = (1.0F - factor) * luma(i);
      for (std::size_t at = i; at < values_.size(); at += plane_) {
        values_[at] = held(factor * values_[at] + gray);
      }
    }
  }

 private:
  /// Returns the luma by ITU-R BT.601; for one channel its value.
  [[nodiscard]] float luma(std::size_t i) const {
    return is_coloured_ ? 0.299F * values_[i] + 0.587F * values_[plane_ + i] +
                              0.114F * values_[2 * plane_ + i]
                        : values_[i];
  }

  std::span<float> values_;
  std::size_t plane_;
  bool is_coloured_;
};

float shade_factor(double most, const SampleId& sample, RandomDraw draw, int picture) {
  const double drawn = signed_uniform(random_of(sample, draw), static_cast<std::uint64_t>(picture));
  return static_cast<float>(1.0 + most * drawn);
}

}  // namespace

PixelMap draw_pixel_map(const AugmentSpec& spec, const SampleId& sample) {
  PixelMap map;
  const double turn =
      spec.rotation / 360.0 * signed_uniform(random_of(sample, RandomDraw::kRotation), 0);
  detail::sincos_of_turn(turn < 0.0 ? turn + 1.0 : turn, &map.sine, &map.cosine);
  const auto of_zoom = static_cast<double>(random_of(sample, RandomDraw::kZoom).uniform(0));
  const double zoom = 1.0 + (spec.zoom - 1.0) * of_zoom;
  const KeyedRandom place = random_of(sample, RandomDraw::kCropPlace);
  map.scale = spec.crop / zoom;
  map.shift_x = 0.5 * signed_uniform(place, 0) * (1.0 - spec.crop) / zoom;
  map.shift_y = 0.5 * signed_uniform(place, 1) * (1.0 - spec.crop) / zoom;
  return map;
}

ShadeFactors draw_shade_factors(const AugmentSpec& spec, const SampleId& sample, int picture) {
  return {.brightness = shade_factor(spec.brightness, sample, RandomDraw::kBrightness, picture),
          .contrast = shade_factor(spec.contrast, sample, RandomDraw::kContrast, picture),
          .saturation = shade_factor(spec.saturation, sample, RandomDraw::kSaturation, picture)};
}

void move_pixels(const PixelMap& map, const PicturePlanes& picture, std::vector<float>& scratch) {
  scratch.assign(picture.values.begin(), picture.values.end());
  const auto width = static_cast<std::size_t>(picture.width);
  const std::size_t plane = static_cast<std::size_t>(picture.height) * width;
  const double middle_x = 0.5 * picture.width;
  const double middle_y = 0.5 * picture.height;
  for (int y = 0; y < picture.height; ++y) {
    const double down = map.scale * (y + 0.5 - middle_y) + map.shift_y * picture.height;
    for (int x = 0; x < picture.width; ++x) {
      const double right = map.scale * (x + 0.5 - middle_x) + map.shift_x * picture.width;
      const Taps across =
          taps_at(middle_x + map.cosine * right + map.sine * down - 0.5, picture.width);
      const Taps along =
          taps_at(middle_y - map.sine * right + map.cosine * down - 0.5, picture.height);
      const std::size_t pixel = static_cast<std::size_t>(y) * width + static_cast<std::size_t>(x);
      for (std::size_t begin = 0; begin < scratch.size(); begin += plane) {
        picture.values[begin + pixel] = weighted_sum(scratch.data() + begin, width, along, across);
      }
    }
  }
}

void change_shades(const ShadeFactors& factors, const PicturePlanes& picture) {
  Shades shades(picture);
  if (factors.brightness != 1.0F) {
    shades.brighten(factors.brightness);
  }
  if (factors.contrast != 1.0F) {
    shades.spread_from_mean(factors.contrast);
  }
  if (factors.saturation != 1.0F && shades.is_coloured()) {
    shades.spread_from_gray(factors.saturation);
  }
  shades.finish();
}

void augment(const AugmentSpec& spec, const SampleId& sample, const PicturePlanes& example,
             std::vector<float>& scratch) {
  if (spec.moves_pixels()) {
    move_pixels(draw_pixel_map(spec, sample), example, scratch);
  }
  if (!spec.changes_shades()) {
    return;
  }
  const std::size_t size = static_cast<std::size_t>(example.channels) *
                           static_cast<std::size_t>(example.height) *
                           static_cast<std::size_t>(example.width);
  int picture = 0;
  for (std::size_t begin = 0; begin < example.values.size(); begin += size) {
    PicturePlanes one = example;
    one.values = example.values.subspan(begin, size);
    change_shades(draw_shade_factors(spec, sample, picture++), one);
  }
}

}  // namespace gangway::data
