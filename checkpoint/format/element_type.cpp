// SPDX-License-Identifier: MIT
#include "checkpoint/format/element_type.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/errors.hpp"

namespace gangway::checkpoint {

namespace {

struct TypeRow {
  ElementType type;
  std::string_view name;
  std::size_t item_bytes;
};
constexpr std::array<TypeRow, 13> kTypes{{{ElementType::kF64, "F64", 8},
                                          {ElementType::kF32, "F32", 4},
                                          {ElementType::kF16, "F16", 2},
                                          {ElementType::kBF16, "BF16", 2},
                                          {ElementType::kI64, "I64", 8},
                                          {ElementType::kI32, "I32", 4},
                                          {ElementType::kI16, "I16", 2},
                                          {ElementType::kI8, "I8", 1},
                                          {ElementType::kU64, "U64", 8},
                                          {ElementType::kU32, "U32", 4},
                                          {ElementType::kU16, "U16", 2},
                                          {ElementType::kU8, "U8", 1},
                                          {ElementType::kBool, "BOOL", 1}}};

const TypeRow& row_of(ElementType type) {
  const auto row = std::ranges::find(kTypes, type, &TypeRow::type);
  if (row == kTypes.end()) {
    throw InvariantError(fmt::format("element type {} does not exist", static_cast<int>(type)));
  }
  return *row;
}

}  // namespace

std::size_t item_size(ElementType type) { return row_of(type).item_bytes; }

std::string_view type_name(ElementType type) { return row_of(type).name; }

std::optional<ElementType> parse_type(std::string_view name) {
  const auto row = std::ranges::find(kTypes, name, &TypeRow::name);
  return row == kTypes.end() ? std::nullopt : std::optional(row->type);
}

}  // namespace gangway::checkpoint
