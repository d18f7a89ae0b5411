// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "checkpoint/durable_file.hpp"
#include "checkpoint/hash.hpp"
#include "checkpoint/safetensors.hpp"
#include "checkpoint/strict_json.hpp"
#include "job/errors.hpp"

namespace gangway::checkpoint {

namespace {

/// Hashed and written in turns of this size, so that the second finds the bytes in the cache.
constexpr std::size_t kWriteChunkBytes = std::size_t{1} << 20U;

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
  for (const TypeRow& row : kTypes) {
    if (row.type == type) {
      return row;
    }
  }
  throw InvariantError(fmt::format("element type {} does not exist", static_cast<int>(type)));
}

void require_consistent(const TensorRecord& tensor) {
  if (tensor.name.empty() || tensor.name.size() > kMaxNameBytes || tensor.name == "__metadata__" ||
      !has_no_controls(tensor.name)) {
    throw InvariantError(
        fmt::format("tensor '{}': illegal name for a checkpoint", printable(tensor.name)));
  }
  std::size_t bytes = item_size(tensor.type);
  bool sound = tensor.shape.size() <= kMaxRank;
  for (const std::int64_t extent : tensor.shape) {
    sound = sound && extent >= 0 &&
            !__builtin_mul_overflow(bytes, static_cast<std::size_t>(extent), &bytes);
  }
  if (!sound || bytes != tensor.bytes.size()) {
    throw InvariantError(fmt::format("tensor '{}': {} bytes given for shape [{}] of {}",
                                     tensor.name, tensor.bytes.size(),
                                     fmt::join(tensor.shape, ", "), type_name(tensor.type)));
  }
}

/// Descending item size keeps every tensor aligned to its items without gaps, which the format
/// forbids.
std::vector<const TensorRecord*> storage_order(std::span<const TensorRecord> tensors) {
  std::vector<const TensorRecord*> order;
  std::set<std::string_view> names;
  for (const TensorRecord& tensor : tensors) {
    require_consistent(tensor);
    if (!names.insert(tensor.name).second) {
      throw InvariantError(fmt::format("tensor '{}' is given twice for one file", tensor.name));
    }
    order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(), [](const TensorRecord* a, const TensorRecord* b) {
    return std::pair(item_size(b->type), std::string_view(a->name)) <
           std::pair(item_size(a->type), std::string_view(b->name));
  });
  return order;
}

/// Length field and JSON, padded so that the data starts at a multiple of kDataAlignment.
std::string make_header(const std::vector<const TensorRecord*>& order,
                        const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) {
    header["__metadata__"] = metadata;
  }
  std::uint64_t offset = 0;
  for (const TensorRecord* tensor : order) {
    const std::uint64_t end = offset + tensor->bytes.size();
    // A list of pairs would make the library search all earlier names at each insertion;
    // emplace_back does not.
    header.get_ref<nlohmann::ordered_json::object_t&>().emplace_back(
        tensor->name, nlohmann::ordered_json{{"dtype", type_name(tensor->type)},
                                             {"shape", tensor->shape},
                                             {"data_offsets", {offset, end}}});
    offset = end;
  }
  std::string json;
  try {
    json = header.dump();
  } catch (const nlohmann::json::exception& error) {
    throw InvariantError(
        fmt::format("a tensor name or metadata is not UTF-8: {}", printable(error.what())));
  }
  const std::size_t padded =
      (8 + json.size() + kDataAlignment - 1) / kDataAlignment * kDataAlignment - 8;
  if (padded > kMaxHeaderBytes || order.size() > kMaxTensors) {
    throw InvariantError(
        fmt::format("{} tensors need a header of {} bytes: more than a checkpoint file may have",
                    order.size(), padded));
  }
  json.resize(padded, ' ');
  std::string out(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) {
    out[i] = static_cast<char>((static_cast<std::uint64_t>(padded) >> (8U * i)) & 0xffU);
  }
  return out + json;
}

void append(NewFile& file, Hasher& hasher, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::span<const std::byte> piece = bytes.first(std::min(bytes.size(), kWriteChunkBytes));
    hasher.update(piece);
    file.write(piece);
    bytes = bytes.subspan(piece.size());
  }
}

}  // namespace

std::size_t item_size(ElementType type) { return row_of(type).item_bytes; }

std::string_view type_name(ElementType type) { return row_of(type).name; }

std::optional<ElementType> parse_type(std::string_view name) {
  for (const TypeRow& row : kTypes) {
    if (row.name == name) {
      return row.type;
    }
  }
  return std::nullopt;
}

FileReport write_safetensors(const std::filesystem::path& path,
                             std::span<const TensorRecord> tensors,
                             const std::map<std::string, std::string>& metadata) {
  const std::vector<const TensorRecord*> order = storage_order(tensors);
  const std::string header = make_header(order, metadata);
  std::uint64_t bytes = header.size();
  for (const TensorRecord* tensor : order) {
    bytes += tensor->bytes.size();
  }
  NewFile file(path, bytes);
  Hasher hasher;
  append(file, hasher, std::as_bytes(std::span(header.data(), header.size())));
  for (const TensorRecord* tensor : order) {
    append(file, hasher, tensor->bytes);
  }
  file.finish();
  return FileReport{.name = path.filename().string(), .bytes = bytes, .xxh3_128 = hasher.hex()};
}

}  // namespace gangway::checkpoint
