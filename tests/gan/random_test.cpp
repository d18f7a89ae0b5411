// SPDX-License-Identifier: MIT
#include "gan/random.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace gangway {
namespace {

std::array<std::uint32_t, 4> words(const PhiloxBlock& block) {
  return {block.word[0], block.word[1], block.word[2], block.word[3]};
}

std::vector<double> draw_normals(const RandomKey& key, std::size_t count) {
  const KeyedRandom random(key);
  std::vector<double> values;
  for (std::uint64_t group = 0; values.size() < count; ++group) {
    std::array<float, 4> four{};
    random.normal4(group, four.data());
    values.insert(values.end(), four.begin(), four.end());
  }
  return values;
}

double moment(const std::vector<double>& values, int order) {
  double sum = 0.0;
  for (const double value : values) {
    sum += std::pow(value, order);
  }
  return sum / static_cast<double>(values.size());
}

/// Returns the largest distance of the empirical distribution from `cdf` (Kolmogorov, Smirnov).
template <typename Cdf>
double ks_distance(std::vector<double> values, const Cdf& cdf) {
  std::ranges::sort(values);
  const double n = static_cast<double>(values.size());
  double distance = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected = cdf(values[i]);
    distance = std::max({distance, expected - static_cast<double>(i) / n,
                         static_cast<double>(i + 1) / n - expected});
  }
  return distance;
}

constexpr double kKsCritical = 1.95;  // times 1 / sqrt(n): exceeded once in a thousand samples

// kat_vectors of Random123 (Salmon et al., 2011), philox4x32 with 10 rounds: counter, key,
// expected.
TEST(Philox, GivesTheKnownAnswersOfItsAuthors) {
  EXPECT_EQ(words(philox4x32(0, 0, 0)),
            (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(words(philox4x32(~0ULL, ~0ULL, ~0ULL)),
            (std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  // counter 243f6a88 85a308d3 13198a2e 03707344, key a4093822 299f31d0 (digits of pi), low word
  // first
  EXPECT_EQ(words(philox4x32(0x299f31d0a4093822ULL, 0x85a308d3243f6a88ULL, 0x0370734413198a2eULL)),
            (std::array<std::uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Mix64, GivesTheFirstNumberOfSplitMix64) { EXPECT_EQ(mix64(0), 0xE220A8397B1DCDAFULL); }

TEST(KeyedRandom, EveryFieldOfTheKeyChangesTheDraws) {
  std::vector<RandomKey> keys(9);
  keys[1].seed = 1;
  keys[2].step = 1;
  keys[3].phase = 1;
  keys[4].repeat = 1;
  keys[5].pass = 1;
  keys[6].microbatch = 1;
  keys[7].block = 1;
  keys[8].draw = 1;
  std::set<std::uint32_t> seen;
  for (const RandomKey& key : keys) {
    seen.insert(KeyedRandom(key).bits(0));
  }
  EXPECT_EQ(seen.size(), keys.size());
}

TEST(KeyedRandom, NegativePhasesAreKeysOfTheirOwn) {
  std::set<std::uint32_t> seen;
  for (const std::int32_t phase :
       {0, kPhaseInitialisation, kPhaseData, kPhaseSample, kPhaseEvaluation}) {
    seen.insert(KeyedRandom({.phase = phase}).bits(0));
  }
  EXPECT_EQ(seen.size(), 5U);
}

TEST(KeyedRandom, AnElementDoesNotDependOnTheOrderOfDrawing) {
  const KeyedRandom random({.seed = 3});
  const std::uint32_t late_first = random.bits(1'000'003);
  static_cast<void>(random.bits(0));
  EXPECT_EQ(random.bits(1'000'003), late_first);
}

TEST(KeyedRandom, NeighbouringMicroBatchesAreUncorrelated) {
  const std::vector<double> a = draw_normals({.seed = 1, .microbatch = 0}, 100'000);
  const std::vector<double> b = draw_normals({.seed = 1, .microbatch = 1}, 100'000);
  double product = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    product += a[i] * b[i];
  }
  EXPECT_LT(std::abs(product / static_cast<double>(a.size())),
            4.0 / std::sqrt(static_cast<double>(a.size())));
}

TEST(KeyedRandom, NormalsHaveTheMomentsOfTheNormalDistribution) {
  const std::vector<double> values = draw_normals({.seed = 11}, 400'000);
  const double n = std::sqrt(static_cast<double>(values.size()));
  EXPECT_LT(std::abs(moment(values, 1)), 4.0 / n);                          // variance of x is 1
  EXPECT_LT(std::abs(moment(values, 2) - 1.0), 4.0 * std::sqrt(2.0) / n);   // of x^2: 2
  EXPECT_LT(std::abs(moment(values, 3)), 4.0 * std::sqrt(15.0) / n);        // of x^3: 15
  EXPECT_LT(std::abs(moment(values, 4) - 3.0), 4.0 * std::sqrt(96.0) / n);  // of x^4: 105 - 9
}

TEST(KeyedRandom, NormalsPassTheKolmogorovSmirnovTest) {
  const std::vector<double> values = draw_normals({.seed = 12}, 100'000);
  const double distance =
      ks_distance(values, [](double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); });
  EXPECT_LT(distance, kKsCritical / std::sqrt(static_cast<double>(values.size())));
}

TEST(KeyedRandom, UniformsPassTheKolmogorovSmirnovTest) {
  const KeyedRandom random({.seed = 13});
  std::vector<double> values(100'000);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(random.uniform(i));
    ASSERT_GE(values[i], 0.0);
    ASSERT_LT(values[i], 1.0);
  }
  EXPECT_LT(ks_distance(values, [](double x) { return x; }),
            kKsCritical / std::sqrt(static_cast<double>(values.size())));
}

TEST(KeyedRandom, IntegersBelowABoundAreEquallyLikely) {
  constexpr std::uint32_t kBound = 10;
  constexpr std::uint64_t kDraws = 100'000;
  const KeyedRandom random({.seed = 14});
  std::array<double, kBound> counts{};
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    counts.at(random.below(i, kBound)) += 1.0;
  }
  double chi_square = 0.0;
  for (const double count : counts) {
    chi_square += (count - 10'000.0) * (count - 10'000.0) / 10'000.0;
  }
  EXPECT_LT(chi_square, 27.88);  // 9 degrees of freedom, exceeded once in a thousand
}

TEST(LogOfUnit, AgreesWithTheMathLibrary) {
  const KeyedRandom random({.seed = 15});
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const double u = (static_cast<double>(random.bits(i)) + 1.0) * 0x1p-32;
    ASSERT_NEAR(detail::log_of_unit(u), std::log(u), 1e-14) << u;
  }
  EXPECT_EQ(detail::log_of_unit(1.0), 0.0);
  EXPECT_NEAR(detail::log_of_unit(0x1p-32), -32.0 * std::numbers::ln2, 1e-14);
}

TEST(SincosOfTurn, AgreesWithTheMathLibrary) {
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    const double t = static_cast<double>(i * 42'949U) * 0x1p-32;
    double sine = 0.0;
    double cosine = 0.0;
    detail::sincos_of_turn(t, &sine, &cosine);
    ASSERT_NEAR(sine, std::sin(2.0 * std::numbers::pi * t), 1e-14) << t;
    ASSERT_NEAR(cosine, std::cos(2.0 * std::numbers::pi * t), 1e-14) << t;
  }
}

}  // namespace
}  // namespace gangway
