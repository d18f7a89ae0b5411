// SPDX-License-Identifier: MIT
#include "base/text/quantities.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

#include "base/text/parse_number.hpp"

namespace gangway {
namespace {

using Unit = std::pair<std::string_view, double>;

constexpr std::array<Unit, 7> kByteUnits{{{"KiB", 0x1p10},
                                          {"MiB", 0x1p20},
                                          {"GiB", 0x1p30},
                                          {"TiB", 0x1p40},
                                          {"MB", 1e6},
                                          {"GB", 1e9},
                                          {"TB", 1e12}}};
constexpr std::array<Unit, 4> kTimeUnits{{{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0}}};
constexpr std::array<Unit, 7> kRateUnits{{{"kbit", 1e3 / 8},
                                          {"mbit", 1e6 / 8},
                                          {"gbit", 1e9 / 8},
                                          {"tbit", 1e12 / 8},
                                          {"MB/s", 1e6},
                                          {"GB/s", 1e9},
                                          {"TB/s", 1e12}}};

/// Returns the leading number of `text` and the rest.
std::optional<std::pair<double, std::string_view>> number_in(const std::string& text) {
  double value = 0.0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return std::pair(value, std::string_view(rest, static_cast<std::size_t>(end - rest)));
}

std::optional<double> parse_with(const std::string& text, std::span<const Unit> units) {
  const auto number = number_in(text);
  if (!number || !(number->first > 0.0)) {
    return std::nullopt;
  }
  const auto unit = std::ranges::find(units, number->second, &Unit::first);
  return unit == units.end() ? std::nullopt : std::optional(number->first * unit->second);
}

}  // namespace

std::optional<int> parse_count(const std::string& text) {
  const auto count = parse_number<int>(text);
  return count && *count >= 1 ? count : std::nullopt;
}

std::optional<double> parse_amount(const std::string& text) {
  const auto number = number_in(text);
  return number && number->second.empty() && number->first >= 0.0 ? std::optional(number->first)
                                                                  : std::nullopt;
}

std::optional<double> parse_positive(const std::string& text) {
  const auto amount = parse_amount(text);
  return amount && *amount > 0.0 ? amount : std::nullopt;
}

std::optional<std::int64_t> parse_bytes(const std::string& text) {
  const auto bytes = parse_with(text, kByteUnits);
  constexpr double kMost = 0x1p60;
  return bytes && *bytes <= kMost ? std::optional(static_cast<std::int64_t>(*bytes)) : std::nullopt;
}

std::optional<double> parse_seconds(const std::string& text) {
  return text == "0" ? std::optional(0.0) : parse_with(text, kTimeUnits);
}

std::optional<double> parse_rate(const std::string& text) { return parse_with(text, kRateUnits); }

std::optional<bool> parse_flag(const std::string& text) {
  return text == "true"    ? std::optional(true)
         : text == "false" ? std::optional(false)
                           : std::nullopt;
}

}  // namespace gangway
