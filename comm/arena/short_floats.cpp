// SPDX-License-Identifier: MIT
#include "comm/arena/short_floats.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace gangway::comm {
namespace {

#if defined(__x86_64__)

bool has_instructions() {
  // All CPUs with AVX2 have F16C, and not every compiler knows the name "f16c" here.
  return __builtin_cpu_supports("avx2") != 0;
}

__attribute__((target("avx2,f16c"))) void to_fp16_natively(std::span<const float> values,
                                                           float factor, std::uint16_t* halves) {
  const __m256 factors = _mm256_set1_ps(factor);
  for (std::size_t i = 0; i < values.size(); i += 8) {
    const __m256 scaled = _mm256_mul_ps(_mm256_loadu_ps(values.data() + i), factors);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(halves + i),
                     _mm256_cvtps_ph(scaled, _MM_FROUND_TO_NEAREST_INT));
  }
}

__attribute__((target("avx2,f16c"))) void from_fp16_natively(std::span<const std::uint16_t> halves,
                                                             float factor, float* values) {
  const __m256 factors = _mm256_set1_ps(factor);
  for (std::size_t i = 0; i < halves.size(); i += 8) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(halves.data() + i));
    _mm256_storeu_ps(values + i, _mm256_mul_ps(_mm256_cvtph_ps(bits), factors));
  }
}

#else

bool has_instructions() { return false; }
void to_fp16_natively(std::span<const float>, float, std::uint16_t*) {}
void from_fp16_natively(std::span<const std::uint16_t>, float, float*) {}

#endif

}  // namespace

Fp16Conversion fastest_halves() {
  static const Fp16Conversion fastest =
      has_instructions() ? Fp16Conversion::kNative : Fp16Conversion::kPortable;
  return fastest;
}

void to_fp16(std::span<const float> values, float factor, std::span<std::uint16_t> halves,
             Fp16Conversion way) {
  if (way == Fp16Conversion::kNative) {
    to_fp16_natively(values, factor, halves.data());
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    halves[i] = fp16_of(values[i] * factor);
  }
}

void from_fp16(std::span<const std::uint16_t> halves, float factor, std::span<float> values,
               Fp16Conversion way) {
  if (way == Fp16Conversion::kNative) {
    from_fp16_natively(halves, factor, values.data());
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = of_fp16(halves[i]) * factor;
  }
}

}  // namespace gangway::comm
