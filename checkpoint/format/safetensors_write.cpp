// SPDX-License-Identifier: MIT
#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "checkpoint/files/durable_file.hpp"
#include "checkpoint/files/strict_json.hpp"
#include "checkpoint/format/safetensors.hpp"
#include "checkpoint/format/safetensors_layout.hpp"

namespace gangway::checkpoint {

namespace {

/// Block size: each block is hashed, then written while it is still in the processor's cache.
constexpr std::size_t kWriteChunkBytes = std::size_t{1} << 20U;

std::string header_json(const std::vector<FileEntry>& entries,
                        const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) {
    header["__metadata__"] = metadata;
  }
  for (const FileEntry& entry : entries) {
    // emplace_back, because a list of pairs makes the library search all names at each insertion.
    header.get_ref<nlohmann::ordered_json::object_t&>().emplace_back(
        entry.name, nlohmann::ordered_json{{"dtype", type_name(entry.type)},
                                           {"shape", entry.shape},
                                           {"data_offsets", {entry.begin, entry.end}}});
  }
  try {
    return header.dump();
  } catch (const nlohmann::json::exception& error) {
    throw InvariantError(
        fmt::format("a tensor name or metadata is not UTF-8: {}", printable(error.what())));
  }
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

std::uint64_t checked_bytes(const std::string& name, ElementType type,
                            std::span<const std::int64_t> shape) {
  if (name.empty() || name.size() > kMaxNameBytes || name == "__metadata__" ||
      !has_no_controls(name)) {
    throw InvariantError(
        fmt::format("tensor '{}': illegal name for a checkpoint", printable(name)));
  }
  std::uint64_t bytes = item_size(type);
  bool sound = shape.size() <= kMaxRank;
  for (const std::int64_t extent : shape) {
    sound = sound && extent >= 0 &&
            !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes);
  }
  if (!sound) {
    throw InvariantError(
        fmt::format("tensor '{}': illegal shape [{}]", name, fmt::join(shape, ", ")));
  }
  return bytes;
}

std::string lay_out(std::vector<FileEntry>& entries,
                    const std::map<std::string, std::string>& metadata) {
  std::set<std::string_view> names;
  std::uint64_t offset = 0;
  for (FileEntry& entry : entries) {
    const std::uint64_t bytes = checked_bytes(entry.name, entry.type, entry.shape);
    if (offset % item_size(entry.type) != 0) {
      throw InvariantError(
          fmt::format("tensor '{}' would not be aligned to its items", entry.name));
    }
    if (!names.insert(entry.name).second) {
      throw InvariantError(fmt::format("tensor '{}' is given twice for one file", entry.name));
    }
    entry.begin = offset;
    entry.end = offset + bytes;
    offset = entry.end;
  }
  std::string json = header_json(entries, metadata);
  const std::size_t padded =
      (8 + json.size() + kDataAlignment - 1) / kDataAlignment * kDataAlignment - 8;
  if (padded > kMaxHeaderBytes || entries.size() > kMaxTensors) {
    throw InvariantError(
        fmt::format("{} tensors need a header of {} bytes: more than a checkpoint file may have",
                    entries.size(), padded));
  }
  json.resize(padded, ' ');
  std::string out(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) {
    out[i] = static_cast<char>((static_cast<std::uint64_t>(padded) >> (8U * i)) & 0xffU);
  }
  return out + json;
}

FileReport write_safetensors(const std::filesystem::path& path,
                             std::span<const TensorRecord> tensors,
                             const std::map<std::string, std::string>& metadata) {
  std::vector<FileEntry> entries;
  std::map<std::string_view, const TensorRecord*> by_name;
  for (const TensorRecord& tensor : tensors) {
    if (checked_bytes(tensor.name, tensor.type, tensor.shape) != tensor.bytes.size()) {
      throw InvariantError(fmt::format("tensor '{}': {} bytes given for shape [{}] of {}",
                                       tensor.name, tensor.bytes.size(),
                                       fmt::join(tensor.shape, ", "), type_name(tensor.type)));
    }
    entries.push_back({.name = tensor.name, .type = tensor.type, .shape = tensor.shape});
    by_name.emplace(tensor.name, &tensor);
  }
  std::sort(entries.begin(), entries.end(), [](const FileEntry& a, const FileEntry& b) {
    return std::tuple(item_size(b.type), std::string_view(a.name)) <
           std::tuple(item_size(a.type), std::string_view(b.name));
  });
  const std::string header = lay_out(entries, metadata);
  const std::uint64_t bytes = header.size() + (entries.empty() ? 0 : entries.back().end);
  const PosixFileSystem files;
  NewFile file(files, path, bytes);
  Hasher hasher;
  append(file, hasher, std::as_bytes(std::span(header.data(), header.size())));
  for (const FileEntry& entry : entries) {
    append(file, hasher, by_name.at(entry.name)->bytes);
  }
  file.finish();
  return FileReport{.name = path.filename().string(), .bytes = bytes, .xxh3_128 = hasher.hex()};
}

}  // namespace gangway::checkpoint
