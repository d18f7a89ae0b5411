// SPDX-License-Identifier: MIT
#include "comm/arena/wire_format.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "comm/arena/short_floats.hpp"
#include "tests/comm/toy_job.hpp"

namespace gangway::comm {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Returns a 16-bit float by its definition: sign, `exponent_bits` of exponent, mantissa.
double value_by_definition(std::uint16_t bits, int exponent_bits) {
  const int mantissa_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits & 0x7FFF) >> mantissa_bits;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa != 0 ? std::nan("") : sign * HUGE_VAL;
  }
  const double significand = exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits);
  return sign * std::ldexp(significand, std::max(exponent, 1) - bias - mantissa_bits);
}

struct ShortFloat {
  std::string name;
  int exponent_bits;
  std::function<std::uint16_t(float)> of;
  std::function<float(std::uint16_t)> value;
};

std::uint16_t fp16_in_a_row(float value, Fp16Conversion way) {
  std::array<float, 8> values{};
  std::array<std::uint16_t, 8> halves{};
  values[5] = value;
  to_fp16(values, 1.0F, halves, way);
  return halves[5];
}

float value_in_a_row(std::uint16_t bits, Fp16Conversion way) {
  std::array<float, 8> values{};
  std::array<std::uint16_t, 8> halves{};
  halves[5] = bits;
  from_fp16(halves, 1.0F, values, way);
  return values[5];
}

std::vector<ShortFloat> short_floats() {
  std::vector<ShortFloat> all{{"bf16", 8, bf16_of, of_bf16}};
  for (const Fp16Conversion way : {Fp16Conversion::kPortable, fastest_halves()}) {
    all.push_back({way == Fp16Conversion::kPortable ? "fp16" : "fp16Native", 5,
                   [way](float value) { return fp16_in_a_row(value, way); },
                   [way](std::uint16_t bits) { return value_in_a_row(bits, way); }});
  }
  return all;
}

class ShortFloatTest : public testing::TestWithParam<ShortFloat> {};

TEST_P(ShortFloatTest, HasTheValueOfItsDefinition) {
  for (std::uint32_t bits = 0; bits <= 0xFFFFU; ++bits) {
    const double expected =
        value_by_definition(static_cast<std::uint16_t>(bits), GetParam().exponent_bits);
    const double value = GetParam().value(static_cast<std::uint16_t>(bits));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
    } else {
      ASSERT_EQ(value, expected) << bits;
      ASSERT_EQ(std::signbit(value), std::signbit(expected)) << bits;
    }
  }
}

TEST_P(ShortFloatTest, KeepsWhatItCanHold) {
  for (std::uint32_t bits = 0; bits <= 0xFFFFU; ++bits) {
    const float value = GetParam().value(static_cast<std::uint16_t>(bits));
    const std::uint16_t back = GetParam().of(value);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(GetParam().value(back))) << bits;
      ASSERT_EQ(back & 0x8000U, bits & 0x8000U) << bits;
    } else {
      ASSERT_EQ(back, bits);
    }
  }
}

TEST_P(ShortFloatTest, RoundsToTheNearestAndTiesToEven) {
  const std::uint32_t infinity = GetParam().of(kInf);
  for (std::uint32_t bits = 0; bits + 1 < infinity; ++bits) {
    for (const std::uint32_t sign : {0U, 0x8000U}) {
      const auto low = static_cast<std::uint16_t>(bits | sign);
      const auto high = static_cast<std::uint16_t>((bits + 1) | sign);
      const double between = 0.5 * (value_by_definition(low, GetParam().exponent_bits) +
                                    value_by_definition(high, GetParam().exponent_bits));
      const auto middle = static_cast<float>(between);  // exact, except for bf16's denormals
      if (static_cast<double>(middle) != between) {
        continue;
      }
      const float end = sign != 0 ? -kInf : kInf;
      ASSERT_EQ(GetParam().of(middle), bits % 2 == 0 ? low : high) << bits;
      ASSERT_EQ(GetParam().of(std::nextafter(middle, 0.0F)), low) << bits;
      ASSERT_EQ(GetParam().of(std::nextafter(middle, end)), high) << bits;
    }
  }
}

TEST_P(ShortFloatTest, TakesWhatIsTooLargeForInfinityAndKeepsNaN) {
  const std::uint16_t infinity = GetParam().of(kInf);
  EXPECT_EQ(GetParam().value(infinity), kInf);
  EXPECT_EQ(GetParam().of(std::numeric_limits<float>::max()), infinity);
  EXPECT_EQ(GetParam().of(-std::numeric_limits<float>::max()), infinity | 0x8000U);
  for (const std::uint32_t bits :
       {0x7F80'0001U, 0x7FC0'0000U, 0x7FFF'FFFFU, 0xFF80'0001U, 0xFFFF'FFFFU}) {
    EXPECT_TRUE(std::isnan(GetParam().value(GetParam().of(std::bit_cast<float>(bits))))) << bits;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, ShortFloatTest, testing::ValuesIn(short_floats()),
                         [](const auto& chosen) {
                           return chosen.param.name + std::to_string(chosen.index);
                         });

TEST(ShortFloats, AreTheSameBitsByInstructionsAndByIntegers) {
  std::uint32_t bits = 1;
  for (int i = 0; i < 200'000; ++i) {
    bits = bits * 1'664'525U + 1'013'904'223U;
    const auto value = std::bit_cast<float>(bits);
    ASSERT_EQ(fp16_in_a_row(value, fastest_halves()),
              fp16_in_a_row(value, Fp16Conversion::kPortable))
        << bits;
  }
  for (std::uint32_t half = 0; half <= 0xFFFFU; ++half) {
    const auto native = value_in_a_row(static_cast<std::uint16_t>(half), fastest_halves());
    const auto portable =
        value_in_a_row(static_cast<std::uint16_t>(half), Fp16Conversion::kPortable);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(native), std::bit_cast<std::uint32_t>(portable)) << half;
  }
}

constexpr std::size_t kElements = 3 * kBlockElements;

std::vector<std::uint16_t> words_for(WireFormat format) {
  return std::vector<std::uint16_t>(kElements / kBlockElements * words_a_block(format));
}

/// Returns values whose blocks have very different sizes.
std::vector<float> uneven_values(int step) {
  std::vector<float> values(kElements);
  for (std::size_t i = 0; i < kElements; ++i) {
    const auto key = static_cast<std::uint64_t>(step) * kElements + i;
    const float size = i < kBlockElements ? 1e-12F : i < 2 * kBlockElements ? 1.0F : 1e20F;
    values[i] = size * scattered(key * 0x9e3779b97f4a7c15ULL);
  }
  return values;
}

class WireFormatTest : public testing::TestWithParam<WireFormat> {
 protected:
  /// Returns the received values for `values`, sent once without residuals.
  [[nodiscard]] static std::vector<float> arrived(const std::vector<float>& values) {
    std::vector<float> residual(kElements);
    std::vector<std::uint16_t> wire = words_for(GetParam());
    encode_sum(GetParam(), values, residual, wire);
    std::vector<float> decoded(kElements);
    decode(GetParam(), wire, decoded);
    return decoded;
  }
  /// Half a unit in the last place, relative to the value.
  [[nodiscard]] static double tolerance() {
    return GetParam() == WireFormat::kBf16 ? 0x1p-8 : 0x1p-11;
  }
};

TEST_P(WireFormatTest, TakesAboutHalfTheBytes) {
  const std::size_t elements = 10 * kBlockElements;
  const double share = static_cast<double>(wire_bytes(GetParam(), elements)) /
                       static_cast<double>(wire_bytes(WireFormat::kFp32, elements));
  EXPECT_NEAR(share, 0.5, 2e-4);
  EXPECT_EQ(wire_bytes(WireFormat::kFp32, elements), elements * sizeof(float));
}

TEST_P(WireFormatTest, KeepsLargeAndSmallBlocksAlike) {
  for (const float size : {1e-45F, 1e-38F, 1e-30F, 1e-8F, 1.0F, 1e8F, 1e30F, 3e38F}) {
    std::vector<float> values = uneven_values(0);
    std::fill_n(values.begin(), kBlockElements, 0.001F * size);
    values[7] = size;
    const std::vector<float> decoded = arrived(values);
    const double slack = size < 1e-35F ? 1e-40 : 0.0;  // bf16 has few denormals
    EXPECT_NEAR(decoded[7], size, tolerance() * static_cast<double>(size) + slack);
    EXPECT_NEAR(decoded[8], values[8], tolerance() * static_cast<double>(values[8]) + slack);
    EXPECT_NEAR(decoded[kBlockElements], values[kBlockElements],
                tolerance() * std::abs(values[kBlockElements]));
  }
}

TEST_P(WireFormatTest, RoundsNothingTwice) {
  const std::vector<float> decoded = arrived(uneven_values(1));
  EXPECT_TRUE(same_bits(arrived(decoded), decoded));
}

TEST_P(WireFormatTest, SendsInTheEndAllThatWasToBeSent) {
  constexpr int kSteps = 500;
  std::vector<float> residual(kElements);
  std::vector<std::uint16_t> wire = words_for(GetParam());
  std::vector<float> decoded(kElements);
  std::vector<double> meant(kElements);
  std::vector<double> sent(kElements);
  std::vector<double> sizes(kElements);
  for (int step = 0; step < kSteps; ++step) {
    const std::vector<float> values = uneven_values(step);
    encode_sum(GetParam(), values, residual, wire);
    decode(GetParam(), wire, decoded);
    for (std::size_t i = 0; i < kElements; ++i) {
      meant[i] += values[i];
      sent[i] += decoded[i];
      sizes[i] += std::abs(values[i]);
    }
  }
  double worst = 0.0;
  for (std::size_t i = 0; i < kElements; ++i) {
    // Only the residual is missing, up to the rounding of its additions.
    const double missing = meant[i] - sent[i] - static_cast<double>(residual[i]);
    worst = std::max(worst, std::abs(missing) / sizes[i]);
  }
  EXPECT_LT(worst, 1e-6);
}

TEST_P(WireFormatTest, CarriesInfinityAndNaNOnce) {
  std::vector<float> values = uneven_values(0);
  values[3] = kInf;
  values[kBlockElements + 1] = kNan;
  values[kElements - 1] = -kInf;
  std::vector<float> residual(kElements);
  std::vector<std::uint16_t> wire = words_for(GetParam());
  std::vector<float> decoded(kElements);
  encode_sum(GetParam(), values, residual, wire);
  decode(GetParam(), wire, decoded);
  EXPECT_EQ(decoded[3], kInf);
  EXPECT_TRUE(std::isnan(decoded[kBlockElements + 1]));
  EXPECT_EQ(decoded[kElements - 1], -kInf);
  EXPECT_NEAR(decoded[4], values[4], 1e-2 * std::abs(values[4]));  // its neighbour is unchanged
  encode_sum(GetParam(), uneven_values(1), residual, wire);
  decode(GetParam(), wire, decoded);
  for (const float value : decoded) {
    ASSERT_TRUE(std::isfinite(value));
  }
}

TEST_P(WireFormatTest, BringsAllToTheSameWeights) {
  std::vector<float> owners = uneven_values(0);
  std::vector<float> others = owners;
  std::vector<float> exact = owners;  // without rounding
  std::vector<float> residual(kElements);
  std::vector<std::uint16_t> wire = words_for(GetParam());
  for (int step = 1; step <= 300; ++step) {
    const std::vector<float> gradient = uneven_values(step);
    const std::vector<float> base = owners;
    for (std::size_t i = 0; i < kElements; ++i) {
      const float change = 1e-3F * gradient[i];
      owners[i] = (owners[i] + residual[i]) - change;
      exact[i] -= change;
    }
    encode_update(GetParam(), base, owners, residual, wire);
    add_decoded(GetParam(), wire, others);
    ASSERT_TRUE(same_bits(owners, others)) << step;
  }
  for (std::size_t i = 0; i < kElements; ++i) {
    ASSERT_NEAR(owners[i] + residual[i], exact[i],
                1e-5 * std::abs(exact[i]) + 1e-9 * (i < kBlockElements ? 1e-12 : 1e20))
        << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, WireFormatTest,
                         testing::Values(WireFormat::kBf16, WireFormat::kFp16),
                         [](const auto& chosen) {
                           return std::string(chosen.param == WireFormat::kBf16 ? "Bf16" : "Fp16");
                         });

}  // namespace
}  // namespace gangway::comm
