// SPDX-License-Identifier: MIT
// The wavelet filters of augmentation, and what is made of them for a picture of one side, as
// matrices: a filter along an axis is a product with one, so that sums have an order that is fixed
// on any device, and gradients too. Pictures go on beyond their edges by reflection, without the
// pixel at the edge twice. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace gangway::gan {

/// Low-pass filters of Daubechies' least asymmetric wavelets with 2 and 6 vanishing moments
/// (Daubechies, 1992, table 6.3): orthonormal to their own shifts by even numbers, sum sqrt(2).
inline constexpr std::array<double, 4> kSym2 = {-0.12940952255092145, 0.22414386804185735,
                                                0.836516303737469, 0.48296291314469025};
inline constexpr std::array<double, 12> kSym6 = {
    0.015404109327027373,  0.0034907120842174702, -0.11799011114819057,  -0.048311742585633,
    0.4910559419267466,    0.787641141030194,     0.3379294217276218,    -0.07263752278646252,
    -0.021060292512300564, 0.04472490177066578,   0.0017677118642428036, -0.007800708325034148};

/// Row by row.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<double> values;
  [[nodiscard]] double& at(std::int64_t row, std::int64_t column) {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
};

/// Where pixel `index` of the endless picture of `side` pixels comes from. @pre side >= 2
[[nodiscard]] std::int64_t mirrored_index(std::int64_t index, std::int64_t side);

// The grid of half pixels: place m is at m / 2 pixels. Along it the reflected picture repeats after
// 4 (side - 1) places.

/// [4 (side - 1), side]: a period of the picture on the grid of half pixels, by sym6.
[[nodiscard]] Matrix upsampling(std::int64_t side);
/// Places that a picture of `side` pixels is made of again, and where these begin.
[[nodiscard]] constexpr std::int64_t num_places(std::int64_t side) { return 2 * side + 10; }
inline constexpr std::int64_t kFirstPlace = -5;
/// [side, num_places(side)]: the pixels of what lies on the grid of half pixels from kFirstPlace
/// on, by sym6. Of what `upsampling` makes it makes the picture again.
[[nodiscard]] Matrix downsampling(std::int64_t side);

inline constexpr std::int64_t kNumBands = 4;
/// By band, lowest frequencies first, the filter that keeps it, symmetric around its middle; all
/// together they keep everything. By sym2, three levels of halving.
[[nodiscard]] std::array<std::vector<double>, kNumBands> band_filters();
/// [kNumBands, side * side]: each of these as a matrix.
[[nodiscard]] Matrix band_matrices(std::int64_t side);

}  // namespace gangway::gan
