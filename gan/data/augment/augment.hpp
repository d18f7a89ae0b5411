// SPDX-License-Identifier: MIT
// Changes real pictures by chance on their way to the network: crops, magnifies and turns them, and
// changes their shades (data.crop and the like). What is drawn follows from the job's seed and the
// sample's number alone. Called by the loader's threads. No LibTorch.
//
// Own code, because its bits are part of the numerics contract: sums in one order, and of the
// functions of angles those of gan/random.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "job/spec.hpp"

namespace gangway::data {

/// Which sample of a training a picture is shown as.
struct SampleId {
  std::uint64_t seed = 0;
  std::int64_t cursor = 0;  ///< samples shown before it
};

/// An example's planes, height x width values in [-1, 1] each; of two pictures those of one behind
/// those of the other.
struct PicturePlanes {
  std::span<float> values;  ///< [pictures * channels, height, width]
  int channels = 1;         ///< of one picture
  int height = 1;
  int width = 1;
};

/// Where the pixels that are shown come from, in the picture before.
struct PixelMap {
  double scale = 1.0;    ///< of its pixels for one that is shown; 1 at most, so nothing aliases
  double shift_x = 0.0;  ///< of the middle of what is shown from that of the magnified picture, in
  double shift_y = 0.0;  ///< widths and heights of the picture, before it is turned back
  double sine = 0.0;     ///< of the angle by which the picture is turned clockwise
  double cosine = 1.0;
};

/// Factors of shades between black (0) and white (1).
struct ShadeFactors {
  float brightness = 1.0F;
  float contrast = 1.0F;    ///< of distances from the mean luma of the picture
  float saturation = 1.0F;  ///< of distances from a pixel's luma
};

/// The picture is turned about its middle, its border reflected, then magnified about its middle,
/// then a square of it, at a place drawn at random, becomes the whole.
[[nodiscard]] PixelMap draw_pixel_map(const AugmentSpec& spec, const SampleId& sample);
/// Factors between 1 - x and 1 + x; 1 where x is 0.
/// @param picture  which of an example's two
[[nodiscard]] ShadeFactors draw_shade_factors(const AugmentSpec& spec, const SampleId& sample,
                                              int picture);

/// Takes each pixel of `picture` from where `map` says: by cubics (Keys, 1981, a = -1/2), in single
/// precision, row by row; what lies beyond the border is the picture reflected at it. Values are
/// held in [-1, 1].
/// @param scratch  memory that callers keep from one picture to the next
void move_pixels(const PixelMap& map, const PicturePlanes& picture, std::vector<float>& scratch);
/// Brightness, then contrast, then saturation, each held between black and white, as torchvision's
/// functions do it: luma is 0.299 R + 0.587 G + 0.114 B. One channel has no saturation.
/// @param picture  one, of `channels` planes
void change_shades(const ShadeFactors& factors, const PicturePlanes& picture);

/// All of these for an example of one picture or of two: both are moved alike, and their shades are
/// changed each by its own factors. What is off is left as it is, bit for bit.
void augment(const AugmentSpec& spec, const SampleId& sample, const PicturePlanes& example,
             std::vector<float>& scratch);

}  // namespace gangway::data
