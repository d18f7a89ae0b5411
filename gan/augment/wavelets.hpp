// SPDX-License-Identifier: MIT
// Wavelet filters of augmentation, as matrices for pictures of one side. Filtering an axis is a
// matrix product, so sums and gradients have a fixed order on any device. Pictures are reflected at
// their edges without repeating the edge pixel. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace gangway::gan {

/// Low-pass filters of Daubechies' least asymmetric wavelets with 2 and 6 vanishing moments
/// (Daubechies, 1992, table 6.3): orthonormal to their own even shifts, sum sqrt(2).
inline constexpr std::array<double, 4> kSym2 = {-0.12940952255092145, 0.22414386804185735,
                                                0.836516303737469, 0.48296291314469025};
inline constexpr std::array<double, 12> kSym6 = {
    0.015404109327027373,  0.0034907120842174702, -0.11799011114819057,  -0.048311742585633,
    0.4910559419267466,    0.787641141030194,     0.3379294217276218,    -0.07263752278646252,
    -0.021060292512300564, 0.04472490177066578,   0.0017677118642428036, -0.007800708325034148};

/// A row-major matrix.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<double> values;
  [[nodiscard]] double& at(std::int64_t row, std::int64_t column) {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
};

/// Returns the source pixel of pixel `index` of the reflected picture. @pre side >= 2
[[nodiscard]] std::int64_t mirrored_index(std::int64_t index, std::int64_t side);

// The half-pixel grid: place m is at m / 2 pixels. On it the reflected picture has a period of 4
// (side - 1) places.

/// Returns [4 (side - 1), side]: maps a picture to one period on the half-pixel grid, by sym6.
[[nodiscard]] Matrix upsampling(std::int64_t side);
/// Number of places from which downsampling makes `side` pixels, and the first place.
[[nodiscard]] constexpr std::int64_t num_places(std::int64_t side) { return 2 * side + 10; }
inline constexpr std::int64_t kFirstPlace = -5;
/// Returns [side, num_places(side)]: maps the half-pixel grid from kFirstPlace on to pixels, by
/// sym6. Inverts `upsampling`.
[[nodiscard]] Matrix downsampling(std::int64_t side);

inline constexpr std::int64_t kNumBands = 4;
/// Returns the symmetric filter of each band, lowest frequencies first; together they keep
/// everything. By sym2, three levels of halving.
[[nodiscard]] std::array<std::vector<double>, kNumBands> band_filters();
/// Returns each of these filters as a matrix: [kNumBands, side * side].
[[nodiscard]] Matrix band_matrices(std::int64_t side);

}  // namespace gangway::gan
