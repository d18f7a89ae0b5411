// SPDX-License-Identifier: MIT
// Augments real pictures at random: crops, zooms, turns and changes shades (data.crop and the
// like). Draws depend only on the job's seed and the sample's number. Called by the loader's
// threads. No LibTorch.
//
// Own code because its bits are part of the numerics contract: sums have one order, and sines and
// cosines come from gan/random.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "job/spec.hpp"

namespace gangway::data {

/// Identifies a sample of a training.
struct SampleId {
  std::uint64_t seed = 0;
  std::int64_t cursor = 0;  ///< samples shown before it
};

/// An example's planes, height x width values in [-1, 1] each; the planes of a second picture
/// follow.
struct PicturePlanes {
  std::span<float> values;  ///< [pictures * channels, height, width]
  int channels = 1;         ///< of one picture
  int height = 1;
  int width = 1;
};

/// Maps output pixels to positions in the source picture.
struct PixelMap {
  double scale = 1.0;    ///< source pixels an output pixel; at most 1: no aliasing
  double shift_x = 0.0;  ///< offset of the crop's centre from the zoomed picture's, in
  double shift_y = 0.0;  ///< source widths and heights, before the inverse turn
  double sine = 0.0;     ///< of the clockwise turn
  double cosine = 1.0;
};

/// Factors of shades between black (0) and white (1).
struct ShadeFactors {
  float brightness = 1.0F;
  float contrast = 1.0F;    ///< of distances from the mean luma of the picture
  float saturation = 1.0F;  ///< of distances from a pixel's luma
};

/// Draws the map: turn about the centre (borders reflected), zoom about the centre, then crop a
/// random square.
[[nodiscard]] PixelMap draw_pixel_map(const AugmentSpec& spec, const SampleId& sample);
/// Draws factors between 1 - x and 1 + x; 1 if x is 0.
/// @param picture  index within the example
[[nodiscard]] ShadeFactors draw_shade_factors(const AugmentSpec& spec, const SampleId& sample,
                                              int picture);

/// Resamples `picture` by `map`: cubic (Keys, 1981, a = -1/2), in single precision, row by row.
/// Positions beyond the border are reflected. Clamps values to [-1, 1].
/// @param scratch  memory that callers reuse between pictures
void move_pixels(const PixelMap& map, const PicturePlanes& picture, std::vector<float>& scratch);
/// Changes brightness, contrast, then saturation, each clamped to black and white, as torchvision.
/// Luma is 0.299 R + 0.587 G + 0.114 B; one channel has no saturation.
/// @param picture  one picture of `channels` planes
void change_shades(const ShadeFactors& factors, const PicturePlanes& picture);

/// Augments an example of one or two pictures. Both move alike; each has its own shade factors.
/// Transformations that are off keep the bits.
void augment(const AugmentSpec& spec, const SampleId& sample, const PicturePlanes& example,
             std::vector<float>& scratch);

}  // namespace gangway::data
