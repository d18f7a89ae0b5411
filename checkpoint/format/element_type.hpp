// SPDX-License-Identifier: MIT
// Element types with their safetensors names. Any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace gangway::checkpoint {

enum class ElementType {
  kF64,
  kF32,
  kF16,
  kBF16,
  kI64,
  kI32,
  kI16,
  kI8,
  kU64,
  kU32,
  kU16,
  kU8,
  kBool
};

/// Returns the bytes of one element.
[[nodiscard]] std::size_t item_size(ElementType type);
/// Returns the safetensors name: "F32", "U8", "BOOL" …
[[nodiscard]] std::string_view type_name(ElementType type);
[[nodiscard]] std::optional<ElementType> parse_type(std::string_view name);

}  // namespace gangway::checkpoint
