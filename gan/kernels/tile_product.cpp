// SPDX-License-Identifier: MIT
#include "gan/kernels/tile_product.hpp"

#include <string>

#include <ATen/Version.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "gan/kernels/cpu_versions.hpp"

namespace gangway::gan {
namespace {

#if defined(__x86_64__)
using HalfLanes = float __attribute__((vector_size(2 * kLanes)));

template <int kRows, int kCount>
__attribute__((target("avx512f"))) void multiply_by_avx512(const TileProduct<kRows>& product) {
  std::array<std::array<Lanes, kCount>, kRows> tile;
#pragma GCC unroll 6
  for (auto& row : tile) {
    row.fill(_mm512_setzero_ps());
  }
  const float* right = product.right;
  const std::int64_t end = product.length * product.step;
  for (const std::array<const float*, kRows> left : product.left) {
    for (std::int64_t at = 0; at < end; at += product.step) {
      std::array<Lanes, kCount> vectors;
#pragma GCC unroll 6
      for (int i = 0; i < kCount; ++i) {
        vectors[i] = _mm512_load_ps(right + i * kLanes);
      }
#pragma GCC unroll 6
      for (int row = 0; row < kRows; ++row) {
        const __m512 factor = _mm512_set1_ps(left[row][at]);
#pragma GCC unroll 6
        for (int i = 0; i < kCount; ++i) {
          tile[row][i] = _mm512_fmadd_ps(factor, vectors[i], tile[row][i]);
        }
      }
      right += kCount * kLanes;
    }
  }
#pragma GCC unroll 6
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 6
    for (int i = 0; i < kCount; ++i) {
      const __m512 begin = _mm512_loadu_ps(product.begin[row] + i * kLanes);
      _mm512_storeu_ps(product.sums[row] + i * kLanes, _mm512_add_ps(begin, tile[row][i]));
    }
  }
}

/// The same with vectors of half the length, and the same bits. Tiles are kLanes wide, because
/// there are half as many registers.
template <int kRows, int kCount>
__attribute__((target("avx2,fma"))) void multiply_by_avx2(const TileProduct<kRows>& product) {
  const std::int64_t end = product.length * product.step;
  for (int vector = 0; vector < kCount; ++vector) {
    std::array<std::array<HalfLanes, 2>, kRows> tile;
#pragma GCC unroll 6
    for (auto& row : tile) {
      row.fill(_mm256_setzero_ps());
    }
    const float* right = product.right + vector * kLanes;
    for (const std::array<const float*, kRows> left : product.left) {
      for (std::int64_t at = 0; at < end; at += product.step) {
        const __m256 low = _mm256_load_ps(right);
        const __m256 high = _mm256_load_ps(right + kLanes / 2);
#pragma GCC unroll 6
        for (int row = 0; row < kRows; ++row) {
          const __m256 factor = _mm256_broadcast_ss(left[row] + at);
          tile[row][0] = _mm256_fmadd_ps(factor, low, tile[row][0]);
          tile[row][1] = _mm256_fmadd_ps(factor, high, tile[row][1]);
        }
        right += kCount * kLanes;
      }
    }
#pragma GCC unroll 6
    for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 2
      for (int half = 0; half < 2; ++half) {
        const int column = vector * kLanes + half * kLanes / 2;
        const __m256 begin = _mm256_loadu_ps(product.begin[row] + column);
        _mm256_storeu_ps(product.sums[row] + column, _mm256_add_ps(begin, tile[row][half]));
      }
    }
  }
}
#endif

}  // namespace

template <int kRows>
MultiplyTile<kRows> tile_function(std::int64_t vectors) {
#if defined(__x86_64__)
  static const std::string capability = at::get_cpu_capability();
  constexpr std::array<MultiplyTile<kRows>, kTileVectors> kLong{
      multiply_by_avx512<kRows, 1>, multiply_by_avx512<kRows, 2>, multiply_by_avx512<kRows, 3>,
      multiply_by_avx512<kRows, 4>};
  constexpr std::array<MultiplyTile<kRows>, kTileVectors> kShort{
      multiply_by_avx2<kRows, 1>, multiply_by_avx2<kRows, 2>, multiply_by_avx2<kRows, 3>,
      multiply_by_avx2<kRows, 4>};
  if (capability == "AVX512") {
    return kLong.at(static_cast<std::size_t>(vectors - 1));
  }
  return capability == "AVX2" ? kShort.at(static_cast<std::size_t>(vectors - 1)) : nullptr;
#else
  return nullptr;
#endif
}

template MultiplyTile<4> tile_function<4>(std::int64_t vectors);
template MultiplyTile<6> tile_function<6>(std::int64_t vectors);

}  // namespace gangway::gan
