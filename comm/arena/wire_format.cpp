// SPDX-License-Identifier: MIT
#include "comm/arena/wire_format.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "comm/arena/short_floats.hpp"

namespace gangway::comm {
namespace {

using Block = std::array<float, kBlockElements>;

constexpr std::uint32_t kMagnitude = 0x7FFF'FFFFU;
constexpr std::uint32_t kInfinity = 0x7F80'0000U;
// The largest finite value of an fp16 block is scaled to [2^14, 2^15).
constexpr int kTopExponent = 14;
// The powers of two whose inverses are normal floats too.
constexpr int kLeastPower = -126;
constexpr int kMostPower = 127 - kTopExponent;

float power_of_two(int exponent) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23U);
}

/// The power of two by which `block` is divided in fp16.
int power_of(const Block& block) {
  std::int32_t most = 0;
  for (const float value : block) {
    const auto magnitude =
        static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(value) & kMagnitude);
    most = std::max(most, magnitude < static_cast<std::int32_t>(kInfinity) ? magnitude : 0);
  }
  return std::clamp((most >> 23) - 127 - kTopExponent, kLeastPower, kMostPower);
}

void encode_block(WireFormat format, const Block& block, std::uint16_t* wire) {
  if (format == WireFormat::kBf16) {
    for (std::size_t i = 0; i < block.size(); ++i) {
      wire[i] = bf16_of(block[i]);
    }
    return;
  }
  const int power = power_of(block);
  wire[0] = static_cast<std::uint16_t>(power);
  to_fp16(block, power_of_two(-power), {wire + 1, block.size()}, fastest_halves());
}

void decode_block(WireFormat format, const std::uint16_t* wire, float* block) {
  if (format == WireFormat::kBf16) {
    for (std::size_t i = 0; i < kBlockElements; ++i) {
      block[i] = of_bf16(wire[i]);
    }
    return;
  }
  // Clamped, because a faulty peer may send any power.
  const int power = std::clamp<int>(static_cast<std::int16_t>(wire[0]), kLeastPower, kMostPower);
  from_fp16({wire + 1, kBlockElements}, power_of_two(power), {block, kBlockElements},
            fastest_halves());
}

/// Zeroes an infinity or NaN, which must not be sent twice.
float finite_or_zero(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const bool is_finite =
      static_cast<std::int32_t>(bits & kInfinity) != static_cast<std::int32_t>(kInfinity);
  return std::bit_cast<float>(is_finite ? bits : 0U);
}

}  // namespace

std::size_t words_a_block(WireFormat format) {
  switch (format) {
    case WireFormat::kFp32:
      return 2 * kBlockElements;
    case WireFormat::kBf16:
      return kBlockElements;
    case WireFormat::kFp16:
      break;
  }
  return kBlockElements + 1;
}

std::size_t wire_bytes(WireFormat format, std::size_t elements) {
  return elements / kBlockElements * words_a_block(format) * sizeof(std::uint16_t);
}

void encode_sum(WireFormat format, std::span<const float> values, std::span<float> residual,
                std::span<std::uint16_t> wire) {
  const std::size_t words = words_a_block(format);
  Block meant;    // NOLINT: filled before it is read
  Block decoded;  // NOLINT: likewise
  for (std::size_t block = 0; block * kBlockElements < values.size(); ++block) {
    const float* const value = values.data() + block * kBlockElements;
    float* const lost = residual.data() + block * kBlockElements;
    for (std::size_t i = 0; i < kBlockElements; ++i) {
      meant[i] = value[i] + lost[i];
    }
    encode_block(format, meant, wire.data() + block * words);
    decode_block(format, wire.data() + block * words, decoded.data());
    for (std::size_t i = 0; i < kBlockElements; ++i) {
      lost[i] = finite_or_zero(meant[i] - decoded[i]);
    }
  }
}

void encode_update(WireFormat format, std::span<const float> base, std::span<float> weights,
                   std::span<float> residual, std::span<std::uint16_t> wire) {
  const std::size_t words = words_a_block(format);
  Block change;  // NOLINT: filled before it is read
  for (std::size_t block = 0; block * kBlockElements < weights.size(); ++block) {
    const float* const from = base.data() + block * kBlockElements;
    float* const weight = weights.data() + block * kBlockElements;
    float* const lost = residual.data() + block * kBlockElements;
    for (std::size_t i = 0; i < kBlockElements; ++i) {
      change[i] = weight[i] - from[i];
    }
    encode_block(format, change, wire.data() + block * words);
    decode_block(format, wire.data() + block * words, change.data());
    for (std::size_t i = 0; i < kBlockElements; ++i) {
      const float arrived = from[i] + change[i];
      lost[i] = finite_or_zero(weight[i] - arrived);
      weight[i] = arrived;
    }
  }
}

void decode(WireFormat format, std::span<const std::uint16_t> wire, std::span<float> values) {
  const std::size_t words = words_a_block(format);
  for (std::size_t block = 0; block * kBlockElements < values.size(); ++block) {
    decode_block(format, wire.data() + block * words, values.data() + block * kBlockElements);
  }
}

void add_decoded(WireFormat format, std::span<const std::uint16_t> wire, std::span<float> weights) {
  const std::size_t words = words_a_block(format);
  Block change;  // NOLINT: filled before it is read
  for (std::size_t block = 0; block * kBlockElements < weights.size(); ++block) {
    decode_block(format, wire.data() + block * words, change.data());
    float* const weight = weights.data() + block * kBlockElements;
    for (std::size_t i = 0; i < kBlockElements; ++i) {
      weight[i] += change[i];
    }
  }
}

}  // namespace gangway::comm
