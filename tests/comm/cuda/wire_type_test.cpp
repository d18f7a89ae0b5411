// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "comm/cuda/slice_element.hpp"
#include "tests/comm/toy_job.hpp"

namespace gangway::comm {
namespace {

class WireTypes : public testing::TestWithParam<WireType> {
 protected:
  /// Returns the code of infinity, the largest. Codes with sign zero increase with their value.
  [[nodiscard]] static std::uint16_t infinity() {
    return GetParam() == WireType::kBfloat16 ? 0x7F80U : 0x7C00U;
  }
  [[nodiscard]] static float value_of(unsigned int code) {
    return decode(static_cast<std::uint16_t>(code), GetParam());
  }
};

TEST_P(WireTypes, KeepWhatTheyCanHold) {
  for (unsigned int code = 0; code <= 0xFFFFU; ++code) {
    if ((code & 0x7FFFU) <= infinity()) {
      ASSERT_EQ(encode(value_of(code), GetParam()), code);
    } else {
      ASSERT_TRUE(std::isnan(value_of(code))) << code;
    }
  }
}

TEST_P(WireTypes, RoundToTheNearestAndTiesToEven) {
  for (unsigned int code = 0; code + 1 < infinity(); ++code) {
    const double low = value_of(code);
    const double high = value_of(code + 1);
    const auto middle = static_cast<float>((low + high) / 2.0);
    ASSERT_EQ(encode(middle, GetParam()), code + (code & 1U)) << code;
    ASSERT_EQ(encode(std::nextafter(middle, 0.0F), GetParam()), code) << code;
    const float above = std::nextafter(middle, std::numeric_limits<float>::infinity());
    ASSERT_EQ(encode(above, GetParam()), code + 1) << code;
    ASSERT_EQ(encode(-above, GetParam()), (code + 1) | 0x8000U) << code;
  }
}

TEST_P(WireTypes, OverflowToInfinityAndKeepNaN) {
  const float infinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(encode(infinite, GetParam()), infinity());
  EXPECT_EQ(encode(-infinite, GetParam()), infinity() | 0x8000U);
  EXPECT_EQ(encode(std::numeric_limits<float>::max(), GetParam()), infinity());
  EXPECT_TRUE(
      std::isnan(decode(encode(std::numeric_limits<float>::quiet_NaN(), GetParam()), GetParam())));
}

TEST_P(WireTypes, SendLaterWhatRoundingTook) {
  float residual = 0.0F;
  double sent = 0.0;
  const float value = 0.3456789F;
  for (int step = 0; step < 100; ++step) {
    sent += decode(encode_element(value, &residual, GetParam()), GetParam());
  }
  // In fp32 the sum of value and residual rounds too, relatively by less than 2^-24 per step.
  EXPECT_NEAR(sent + residual, 100.0 * value, 100.0 * value * 0x1p-23);
}

INSTANTIATE_TEST_SUITE_P(Types, WireTypes, testing::Values(WireType::kBfloat16, WireType::kFloat16),
                         [](const testing::TestParamInfo<WireType>& type) {
                           return type.param == WireType::kBfloat16 ? "Bfloat16" : "Float16";
                         });

}  // namespace
}  // namespace gangway::comm
