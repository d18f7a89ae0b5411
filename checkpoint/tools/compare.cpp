// SPDX-License-Identifier: MIT
#include "checkpoint/tools/compare.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "checkpoint/format/stored_state.hpp"

namespace gangway::checkpoint {
namespace {

template <typename Number>
Number load(const std::byte* from) {
  Number number{};
  std::memcpy(&number, from, sizeof number);
  return number;
}

/// Converts from IEEE 754 binary16.
double half_value(std::uint16_t bits) {
  constexpr unsigned kExponentMask = 0x1f;
  const unsigned exponent = (bits >> 10U) & kExponentMask;
  const double fraction = bits & 0x3ffU;
  double value = 0.0;
  if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else if (exponent == kExponentMask) {
    value = fraction == 0.0 ? std::numeric_limits<double>::infinity()
                            : std::numeric_limits<double>::quiet_NaN();
  } else {
    value = std::ldexp(fraction + 1024.0, static_cast<int>(exponent) - 25);
  }
  return (bits & 0x8000U) != 0 ? -value : value;
}

/// Converts from bfloat16, the upper half of a binary32.
double bfloat_value(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

double value_at(ElementType type, const std::byte* at) {
  switch (type) {
    case ElementType::kF64:
      return load<double>(at);
    case ElementType::kF32:
      return load<float>(at);
    case ElementType::kF16:
      return half_value(load<std::uint16_t>(at));
    case ElementType::kBF16:
      return bfloat_value(load<std::uint16_t>(at));
    case ElementType::kI64:
      return static_cast<double>(load<std::int64_t>(at));
    case ElementType::kI32:
      return load<std::int32_t>(at);
    case ElementType::kI16:
      return load<std::int16_t>(at);
    case ElementType::kI8:
      return load<std::int8_t>(at);
    case ElementType::kU64:
      return static_cast<double>(load<std::uint64_t>(at));
    case ElementType::kU32:
      return load<std::uint32_t>(at);
    case ElementType::kU16:
      return load<std::uint16_t>(at);
    case ElementType::kU8:
    case ElementType::kBool:
      return load<std::uint8_t>(at);
  }
  return 0.0;
}

void compare_values(TensorDifference& difference, ElementType type, const std::vector<std::byte>& a,
                    const std::vector<std::byte>& b) {
  const std::size_t item = item_size(type);
  for (std::size_t at = 0; at < a.size(); at += item) {
    if (std::memcmp(a.data() + at, b.data() + at, item) == 0) {
      continue;
    }
    ++difference.differing;
    const double apart = std::abs(value_at(type, a.data() + at) - value_at(type, b.data() + at));
    // Keep NaN: it is more informative than any number.
    if (std::isnan(apart) || apart > difference.largest) {
      difference.largest = apart;
    }
  }
}

std::string kind_of(const StoredTensor& tensor) {
  return fmt::format("{} [{}]", type_name(tensor.type), fmt::join(tensor.shape, ", "));
}

TensorDifference compare(StoredState& a, const StoredTensor& in_a, StoredState& b,
                         const StoredTensor& in_b) {
  TensorDifference difference{.name = in_a.name, .elements = in_a.num_elements()};
  if (in_a.type != in_b.type || in_a.shape != in_b.shape) {
    difference.reason = fmt::format("{} and {}", kind_of(in_a), kind_of(in_b));
    return difference;
  }
  std::vector<std::byte> values_a(in_a.num_bytes());
  std::vector<std::byte> values_b(in_b.num_bytes());
  a.read_row_major(in_a, values_a);
  b.read_row_major(in_b, values_b);
  if (values_a != values_b) {
    compare_values(difference, in_a.type, values_a, values_b);
  }
  return difference;
}

/// Sorts by largest difference, descending; tensors that cannot be compared come first.
bool is_before(const TensorDifference& a, const TensorDifference& b) {
  const auto weight = [](const TensorDifference& difference) {
    const bool is_beyond_numbers = !difference.reason.empty() || std::isnan(difference.largest);
    return is_beyond_numbers ? std::numeric_limits<double>::infinity() : difference.largest;
  };
  return weight(a) > weight(b) || (weight(a) == weight(b) && a.name < b.name);
}

}  // namespace

std::vector<TensorDifference> compare_checkpoints(const std::filesystem::path& a,
                                                  const std::filesystem::path& b) {
  StoredState state_a(a);
  StoredState state_b(b);
  std::vector<TensorDifference> differences;
  for (const StoredTensor& tensor : state_a.tensors()) {
    const StoredTensor* const other = state_b.find(tensor.name);
    TensorDifference difference =
        other != nullptr ? compare(state_a, tensor, state_b, *other)
                         : TensorDifference{.name = tensor.name, .reason = "only in the first"};
    if (difference.differing > 0 || !difference.reason.empty()) {
      differences.push_back(std::move(difference));
    }
  }
  for (const StoredTensor& tensor : state_b.tensors()) {
    if (state_a.find(tensor.name) == nullptr) {
      differences.push_back({.name = tensor.name, .reason = "only in the second"});
    }
  }
  std::ranges::sort(differences, {}, &TensorDifference::name);
  return differences;
}

std::string differences_text(const std::vector<TensorDifference>& differences) {
  if (differences.empty()) {
    return "equal, bit for bit\n";
  }
  std::vector<TensorDifference> sorted = differences;
  std::sort(sorted.begin(), sorted.end(), is_before);
  std::string text;
  for (const TensorDifference& difference : sorted) {
    text += difference.reason.empty()
                ? fmt::format("{}: {} of {} elements differ, by {:.3g} at most\n", difference.name,
                              difference.differing, difference.elements, difference.largest)
                : fmt::format("{}: {}\n", difference.name, difference.reason);
  }
  text += fmt::format("{} tensor{} differ{}\n", sorted.size(), sorted.size() == 1 ? "" : "s",
                      sorted.size() == 1 ? "s" : "");
  return text;
}

}  // namespace gangway::checkpoint
