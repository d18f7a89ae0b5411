// SPDX-License-Identifier: MIT
// Parses the rate of a network link in the notation of `tc`. Pure.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/errors.hpp"

namespace gangway {

/// Returns bytes per second for "1gbit", "100mbit", "64kbit" (powers of ten). @throws ConfigError
[[nodiscard]] inline double parse_line_rate(const std::string& text) {
  constexpr double kBitsInByte = 8.0;
  constexpr std::array<std::pair<std::string_view, double>, 3> kUnits{
      {{"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}}};
  std::uint32_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  for (const auto& [name, bits] : kUnits) {
    if (error == std::errc{} && number > 0 && unit == name) {
      return number * bits / kBitsInByte;
    }
  }
  throw ConfigError("--line-rate: '" + text + "' is no rate: write 1gbit, 100mbit or 64kbit");
}

}  // namespace gangway
