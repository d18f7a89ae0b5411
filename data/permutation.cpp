// SPDX-License-Identifier: MIT
#include "data/permutation.hpp"

#include <bit>

#include <fmt/format.h>

#include "base/errors.hpp"

namespace gangway::data {
namespace {

constexpr int kRounds = 6;
constexpr std::int64_t kLargestSize = std::int64_t{1} << 62;

}  // namespace

KeyedPermutation::KeyedPermutation(std::uint64_t seed, std::int64_t data_pass, std::int64_t size)
    : random_(RandomKey{.seed = seed,
                        .step = data_pass,
                        .phase = kPhaseData,
                        .draw = static_cast<std::int32_t>(RandomDraw::kPermutation)}),
      size_(static_cast<std::uint64_t>(size)) {
  if (size < 1 || size > kLargestSize) {
    throw InvariantError(
        fmt::format("permutation of {} elements: from 1 to 2^62 are possible", size));
  }
  const auto bits = static_cast<int>(std::bit_width(size_ - 1));
  half_bits_ = bits < 2 ? 1 : (bits + 1) / 2;
}

std::uint64_t KeyedPermutation::encrypt(std::uint64_t value) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & mask;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::uint64_t mixed = left ^ (random_.bits((round << 32U) | right) & mask);
    left = right;
    right = mixed;
  }
  return (left << half_bits_) | right;
}

std::int64_t KeyedPermutation::operator()(std::int64_t i) const {
  auto value = static_cast<std::uint64_t>(i);
  do {  // cycle walking: a bijection of [0, size)
    value = encrypt(value);
  } while (value >= size_);
  return static_cast<std::int64_t>(value);
}

std::uint64_t seed_of_example(std::uint64_t seed, std::int64_t place, Asked by) {
  return KeyedRandom(RandomKey{.seed = seed,
                               .step = place,
                               .phase = kPhaseData,
                               .block = by == Asked::kByTraining ? 0 : 1,
                               .draw = static_cast<std::int32_t>(RandomDraw::kExample)})
      .bits(0);
}

}  // namespace gangway::data
