// SPDX-License-Identifier: MIT
// What an 8-bit pixel becomes in a network: the same source for CPU and GPU. Included by .cpp and
// .cu files.
#pragma once

#include <cstdint>

#include "gan/random.hpp"  // GANGWAY_HOST_DEVICE

namespace gangway::data {

/// x / 127.5 - 1 in single precision; both operations are rounded by IEEE 754 on every device.
[[nodiscard]] GANGWAY_HOST_DEVICE constexpr float to_unit(std::uint8_t value) {
  return static_cast<float>(value) / 127.5F - 1.0F;
}

}  // namespace gangway::data
