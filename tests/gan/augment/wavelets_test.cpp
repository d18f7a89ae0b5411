// SPDX-License-Identifier: MIT
#include "gan/augment/wavelets.hpp"

#include <cmath>
#include <cstddef>
#include <span>

#include <gtest/gtest.h>

namespace gangway::gan {
namespace {

double shifted_product(std::span<const double> taps, std::size_t shift) {
  double sum = 0.0;
  for (std::size_t i = shift; i < taps.size(); ++i) {
    sum += taps[i] * taps[i - shift];
  }
  return sum;
}

TEST(Wavelets, AreOrthonormalToTheirShiftsByTwo) {
  for (const std::span<const double> taps :
       {std::span<const double>(kSym2), std::span<const double>(kSym6)}) {
    EXPECT_NEAR(shifted_product(taps, 0), 1.0, 1e-11);
    for (std::size_t shift = 2; shift < taps.size(); shift += 2) {
      EXPECT_NEAR(shifted_product(taps, shift), 0.0, 1e-11);
    }
  }
}

TEST(Wavelets, HaveTheirVanishingMoments) {
  const auto moment = [](std::span<const double> taps, int order) {
    double sum = 0.0;
    for (std::size_t i = 0; i < taps.size(); ++i) {
      sum += (i % 2 == 0 ? 1.0 : -1.0) * std::pow(static_cast<double>(i), order) * taps[i];
    }
    return sum;
  };
  for (int order = 0; order < 2; ++order) {
    EXPECT_NEAR(moment(kSym2, order), 0.0, 1e-10);
  }
  for (int order = 0; order < 6; ++order) {
    EXPECT_NEAR(moment(kSym6, order), 0.0, 1e-7);
  }
}

TEST(Wavelets, ReflectWithoutThePixelAtTheEdgeTwice) {
  const std::int64_t expected[] = {2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1};
  for (std::int64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(mirrored_index(i - 4, 4), expected[i]) << i - 4;
  }
}

TEST(Wavelets, MakeAPictureAgainOfTheFineOne) {
  for (const std::int64_t side : {4, 7, 32}) {
    Matrix up = upsampling(side);
    Matrix down = downsampling(side);
    ASSERT_EQ(down.columns, num_places(side));
    for (std::int64_t row = 0; row < side; ++row) {
      for (std::int64_t column = 0; column < side; ++column) {
        double sum = 0.0;
        for (std::int64_t i = 0; i < down.columns; ++i) {
          const std::int64_t place = ((i + kFirstPlace) % up.rows + up.rows) % up.rows;
          sum += down.at(row, i) * up.at(place, column);
        }
        EXPECT_NEAR(sum, row == column ? 1.0 : 0.0, 1e-11) << side;
      }
    }
  }
}

TEST(Wavelets, BandsKeepEverythingTogetherAndTheMeanInTheLowestAlone) {
  const auto bands = band_filters();
  ASSERT_EQ(bands[0].size(), 43U);
  for (std::size_t tap = 0; tap < 43; ++tap) {
    double sum = 0.0;
    for (const auto& band : bands) {
      ASSERT_EQ(band.size(), 43U);
      EXPECT_NEAR(band[tap], band[42 - tap], 1e-15);
      sum += band[tap];
    }
    EXPECT_NEAR(sum, tap == 21 ? 1.0 : 0.0, 1e-11);
  }
  for (std::size_t band = 0; band < bands.size(); ++band) {
    double mean = 0.0;
    double fastest = 0.0;  // response to +1, -1, +1 …
    for (std::size_t tap = 0; tap < 43; ++tap) {
      mean += bands[band][tap];
      fastest += (tap % 2 == 1 ? 1.0 : -1.0) * bands[band][tap];
    }
    EXPECT_NEAR(mean, band == 0 ? 1.0 : 0.0, 1e-11);
    EXPECT_NEAR(fastest, band == 3 ? 1.0 : 0.0, 1e-11);
  }
}

}  // namespace
}  // namespace gangway::gan
