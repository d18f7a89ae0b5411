// SPDX-License-Identifier: MIT
#include "gan/augment/wavelets.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace gangway::gan {
namespace {

using Taps = std::vector<double>;

constexpr std::int64_t kSym6Reach = 5;  // sym6's sixth tap is at the pixel

Matrix zero_matrix(std::int64_t rows, std::int64_t columns) {
  return {rows, columns, std::vector<double>(static_cast<std::size_t>(rows * columns))};
}

Taps taps_convolved(const Taps& one, const Taps& other) {
  Taps result(one.size() + other.size() - 1);
  for (std::size_t i = 0; i < one.size(); ++i) {
    for (std::size_t k = 0; k < other.size(); ++k) {
      result[i + k] += one[i] * other[k];
    }
  }
  return result;
}

/// Returns H(z) H(1 / z) / 2: the gain of filtering forwards and backwards.
Taps there_and_back(const Taps& filter) {
  Taps product = taps_convolved(filter, {filter.rbegin(), filter.rend()});
  for (double& tap : product) {
    tap /= 2.0;
  }
  return product;
}

Taps spread(const Taps& filter) {
  Taps result(2 * filter.size() - 1);
  for (std::size_t i = 0; i < filter.size(); ++i) {
    result[2 * i] = filter[i];
  }
  return result;
}

}  // namespace

std::int64_t mirrored_index(std::int64_t index, std::int64_t side) {
  const std::int64_t period = 2 * (side - 1);
  const std::int64_t within = ((index % period) + period) % period;
  return std::min(within, period - within);
}

Matrix upsampling(std::int64_t side) {
  Matrix matrix = zero_matrix(4 * (side - 1), side);
  for (std::int64_t place = 0; place < matrix.rows; ++place) {
    // Places between two pixels are zero before the filter.
    for (std::size_t tap = 0; tap < kSym6.size(); ++tap) {
      const std::int64_t twice = place + kSym6Reach - static_cast<std::int64_t>(tap);
      if (twice % 2 == 0) {
        matrix.at(place, mirrored_index(twice / 2, side)) += kSym6[tap] * std::sqrt(2.0);
      }
    }
  }
  return matrix;
}

Matrix downsampling(std::int64_t side) {
  Matrix matrix = zero_matrix(side, num_places(side));
  for (std::int64_t pixel = 0; pixel < side; ++pixel) {
    for (std::size_t tap = 0; tap < kSym6.size(); ++tap) {
      const std::int64_t place = 2 * pixel + static_cast<std::int64_t>(tap) - kSym6Reach;
      matrix.at(pixel, place - kFirstPlace) = kSym6[tap] / std::sqrt(2.0);
    }
  }
  return matrix;
}

std::array<std::vector<double>, kNumBands> band_filters() {
  const Taps low(kSym2.begin(), kSym2.end());
  Taps high = low;
  for (std::size_t i = 1; i < high.size(); i += 2) {
    high[i] = -high[i];  // H(-z)
  }
  const Taps keeps_low = there_and_back(low);
  const Taps keeps_high = there_and_back(high);
  std::array<Taps, kNumBands> bands;
  bands[0] = {1.0};
  for (std::size_t newest = 1; newest < bands.size(); ++newest) {
    for (std::size_t band = 0; band < newest; ++band) {
      bands[band] = taps_convolved(spread(bands[band]), keeps_low);
    }
    bands[newest].assign(bands[0].size(), 0.0);
    const std::size_t first = (bands[0].size() - keeps_high.size()) / 2;
    for (std::size_t i = 0; i < keeps_high.size(); ++i) {
      bands[newest][first + i] = keeps_high[i];
    }
  }
  return bands;
}

Matrix band_matrices(std::int64_t side) {
  const auto bands = band_filters();
  Matrix matrix = zero_matrix(kNumBands, side * side);
  for (std::size_t band = 0; band < bands.size(); ++band) {
    const auto middle = static_cast<std::int64_t>(bands[band].size() / 2);
    for (std::int64_t pixel = 0; pixel < side; ++pixel) {
      for (std::size_t tap = 0; tap < bands[band].size(); ++tap) {
        const std::int64_t from =
            mirrored_index(pixel + static_cast<std::int64_t>(tap) - middle, side);
        matrix.at(static_cast<std::int64_t>(band), pixel * side + from) += bands[band][tap];
      }
    }
  }
  return matrix;
}

}  // namespace gangway::gan
