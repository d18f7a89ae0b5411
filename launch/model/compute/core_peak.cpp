// SPDX-License-Identifier: MIT
#include "launch/model/compute/core_peak.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <limits>
#include <vector>

#include "gan/torch.hpp"

namespace gangway::launch {
namespace {

constexpr int kFewestCalls = 3;
constexpr std::int64_t kTurns = 20'000;

using Float16 = float __attribute__((vector_size(64)));
using Float8 = float __attribute__((vector_size(32)));
using Float4 = float __attribute__((vector_size(16)));

/// Runs `kVectors` independent chains of multiply-adds. The build flags of this file fuse them.
/// Returns a value that depends on all chains, so that none is optimised away.
template <typename Vector, int kVectors>
__attribute__((always_inline)) inline float multiply_add() {
  const volatile float start = 1.0F;  // read for each chain: the compiler would merge equal chains
  std::array<Vector, kVectors> sums;
  for (Vector& sum : sums) {
    sum = Vector{} + start;
  }
  const Vector factor = Vector{} + 0.999F;
  const Vector addend = Vector{} + 0.001F;
  for (std::int64_t turn = 0; turn < kTurns; ++turn) {
    for (Vector& sum : sums) {
      sum = sum * factor + addend;
    }
  }
  Vector all{};
  for (const Vector& sum : sums) {
    all += sum;
  }
  return all[0];
}

template <typename Vector, int kVectors>
constexpr double operations() {
  return 2.0 * kTurns * kVectors * static_cast<double>(sizeof(Vector) / sizeof(float));
}

constexpr int kChains = 12;  // enough for two units of latency 4, and fits 16 registers

#if defined(__x86_64__)
__attribute__((target("arch=x86-64-v4"), noinline)) float widest() {
  return multiply_add<Float16, kChains>();
}
__attribute__((target("arch=x86-64-v3"), noinline)) float wide() {
  return multiply_add<Float8, kChains>();
}
#endif
__attribute__((noinline)) float narrow() { return multiply_add<Float4, kChains>(); }

double rate_of(double operations_a_call, float (*loop)(), double seconds) {
  volatile float kept = 0.0F;
  return operations_a_call / least_seconds(seconds, [&] { kept = loop(); });
}

}  // namespace

double least_seconds(double seconds, const std::function<void()>& body) {
  using Clock = std::chrono::steady_clock;
  body();
  double least = std::numeric_limits<double>::max();
  const auto begin = Clock::now();
  for (int call = 0;; ++call) {
    const auto before = Clock::now();
    body();
    const auto after = Clock::now();
    least = std::min(least, std::chrono::duration<double>(after - before).count());
    if (call + 1 >= kFewestCalls &&
        std::chrono::duration<double>(after - begin).count() >= seconds) {
      return least;
    }
  }
}

double core_flops(double seconds) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") != 0) {
    return rate_of(operations<Float16, kChains>(), widest, seconds);
  }
  if (__builtin_cpu_supports("fma") != 0) {
    return rate_of(operations<Float8, kChains>(), wide, seconds);
  }
#endif
  return rate_of(operations<Float4, kChains>(), narrow, seconds);
}

double bf16_flops(double seconds) {
  double best = 0.0;
  for (const std::int64_t size : {256, 512, 1024}) {
    const at::Tensor left = at::ones({size, size}, at::kBFloat16);
    const at::Tensor right = at::ones({size, size}, at::kBFloat16);
    at::Tensor product = at::empty({size, size}, at::kBFloat16);
    const double least = least_seconds(seconds / 3.0, [&] { at::mm_out(product, left, right); });
    best = std::max(best, 2.0 * static_cast<double>(size * size * size) / least);
  }
  return best;
}

double copy_rate(std::int64_t bytes, double seconds) {
  const std::vector<char> from(static_cast<std::size_t>(bytes), 1);
  std::vector<char> to(from.size());
  const double least = least_seconds(seconds, [&] {
    std::memcpy(to.data(), from.data(), from.size());
    __asm__ volatile("" : : "r"(to.data()) : "memory");
  });
  return 2.0 * static_cast<double>(bytes) / least;
}

}  // namespace gangway::launch
