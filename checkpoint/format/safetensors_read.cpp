// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include <fmt/format.h>
#include <sys/mman.h>

#include "base/errors.hpp"
#include "checkpoint/files/durable_file.hpp"
#include "checkpoint/files/strict_json.hpp"
#include "checkpoint/format/safetensors.hpp"
#include "checkpoint/format/safetensors_layout.hpp"

namespace gangway::checkpoint {

namespace {

using nlohmann::json;

constexpr int kMaxHeaderDepth =
    4;  // header, tensor and shape need 3; one spare, as the format's authors advise
constexpr std::size_t kMaxMetadata = 4096;
constexpr std::uint64_t kLengthBytes = 8;

[[noreturn]] void refuse(const std::string& where, const std::string& what) {
  throw CheckpointError(fmt::format("{}: {}: damaged", where, what));
}

/// Reads the header's JSON text; checks its length against file and limit before allocating.
std::string read_header_text(const OpenFile& file, const std::filesystem::path& path) {
  const std::string where = path.string();
  if (file.bytes < kLengthBytes + 2) {
    refuse(where, fmt::format("has {} bytes, less than the smallest safetensors file", file.bytes));
  }
  std::array<std::byte, kLengthBytes> raw{};
  read_exactly(file, 0, raw, path);
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    length |= std::to_integer<std::uint64_t>(raw[i]) << (8U * i);
  }
  if (length > file.bytes - kLengthBytes) {
    refuse(where,
           fmt::format("announces a header of {} bytes in a file of {}", length, file.bytes));
  }
  if (length < 2 || length > kMaxHeaderBytes) {
    refuse(where, fmt::format("announces a header of {} bytes, allowed are 2 to {}", length,
                              kMaxHeaderBytes));
  }
  std::string text(static_cast<std::size_t>(length), '\0');
  read_exactly(file, kLengthBytes, std::as_writable_bytes(std::span(text.data(), text.size())),
               path);
  return text;
}

std::map<std::string, std::string> read_metadata(const json& value, const std::string& where) {
  if (!value.is_object() || value.size() > kMaxMetadata) {
    refuse(where, fmt::format("__metadata__ is not an object of at most {} texts", kMaxMetadata));
  }
  std::map<std::string, std::string> metadata;
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) {
      refuse(where, fmt::format("metadata '{}' is not a text", printable(key)));
    }
    metadata.emplace(key, text.get<std::string>());
  }
  return metadata;
}

/// Returns the shape and sets its size in `bytes`; rejects sizes above 64 bits.
std::vector<std::int64_t> read_shape(const json& value, std::uint64_t& bytes,
                                     const std::string& where) {
  if (!value.is_array() || value.size() > kMaxRank) {
    refuse(where, fmt::format("the shape is not a list of at most {} numbers", kMaxRank));
  }
  std::vector<std::int64_t> shape;
  for (const json& extent : value) {
    if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) {
      refuse(where, "the shape holds something that is not a count");
    }
    if (__builtin_mul_overflow(bytes, extent.get<std::uint64_t>(), &bytes)) {
      refuse(where, "the shape has more bytes than 64 bits can count");
    }
    shape.push_back(extent.get<std::int64_t>());
  }
  return shape;
}

FileEntry read_tensor(const std::string& name, const json& value, const std::string& file) {
  const std::string where = fmt::format("{}: tensor '{}'", file, printable(name));
  if (name.empty() || name.size() > kMaxNameBytes || !has_no_controls(name)) {
    refuse(where, "illegal name");
  }
  if (!value.is_object() || value.size() != 3 || !value.contains("dtype") ||
      !value.contains("shape") || !value.contains("data_offsets")) {
    refuse(where, "its entry is not exactly dtype, shape and data_offsets");
  }
  FileEntry entry;
  entry.name = name;
  const json& dtype = value.at("dtype");
  const std::optional<ElementType> type =
      dtype.is_string() ? parse_type(dtype.get_ref<const std::string&>()) : std::nullopt;
  if (!type) {
    refuse(where, fmt::format("unknown dtype {}", printable(dtype.dump(), 40)));
  }
  entry.type = *type;
  std::uint64_t bytes = item_size(*type);
  entry.shape = read_shape(value.at("shape"), bytes, where);
  const json& offsets = value.at("data_offsets");
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned()) {
    refuse(where, "data_offsets is not a pair of counts");
  }
  entry.begin = offsets[0].get<std::uint64_t>();
  entry.end = offsets[1].get<std::uint64_t>();
  if (entry.begin > entry.end || entry.end - entry.begin != bytes) {
    refuse(where, fmt::format("shape and dtype need {} bytes, the offsets are {} to {}", bytes,
                              entry.begin, entry.end));
  }
  return entry;
}

/// Checks that the tensors follow one another without gap or overlap and fill the file.
void require_covering(std::vector<FileEntry>& tensors, std::uint64_t data_bytes,
                      const std::string& file) {
  std::sort(tensors.begin(), tensors.end(), [](const FileEntry& a, const FileEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t position = 0;
  for (const FileEntry& tensor : tensors) {
    if (tensor.begin != position) {
      refuse(fmt::format("{}: tensor '{}'", file, tensor.name),
             fmt::format("starts at {}, the one before ends at {}", tensor.begin, position));
    }
    if (tensor.end > data_bytes) {
      refuse(fmt::format("{}: tensor '{}'", file, tensor.name),
             fmt::format("ends at {}, the data has {} bytes (truncated?)", tensor.end, data_bytes));
    }
    position = tensor.end;
  }
  if (position != data_bytes) {
    refuse(file, fmt::format("the tensors cover {} of {} bytes of data", position, data_bytes));
  }
}

}  // namespace

FileHeader parse_header(std::string_view text, std::uint64_t data_bytes, const std::string& file) {
  const json document = parse_strict_json(text, kMaxHeaderDepth, file);
  if (document.size() > kMaxTensors + 1) {
    refuse(file, fmt::format("lists more than {} tensors", kMaxTensors));
  }
  FileHeader header;
  for (const auto& [key, value] : document.items()) {
    if (key == "__metadata__") {
      header.metadata = read_metadata(value, file);
    } else {
      header.entries.push_back(read_tensor(key, value, file));
    }
  }
  require_covering(header.entries, data_bytes, file);
  return header;
}

FileHeader read_header(const OpenFile& file, const std::filesystem::path& path) {
  const std::string text = read_header_text(file, path);
  const std::uint64_t data_begin = kLengthBytes + text.size();
  FileHeader header = parse_header(text, file.bytes - data_begin, path.string());
  header.data_begin = data_begin;
  return header;
}

struct SafetensorsFile::Mapping {
  std::filesystem::path path;
  std::span<const std::byte> contents;
  std::vector<TensorRecord> tensors;

  Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (!contents.empty()) {
      // munmap takes void*; the mapping itself is read-only.
      (void)::munmap(const_cast<std::byte*>(contents.data()), contents.size());
    }
  }
};

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : mapping_(std::make_unique<Mapping>()) {
  mapping_->path = path;
  const OpenFile file = open_regular_file(path);
  FileHeader header = read_header(file, path);

  void* address = ::mmap(nullptr, static_cast<std::size_t>(file.bytes), PROT_READ, MAP_PRIVATE,
                         file.fd.get(), 0);
  if (address == MAP_FAILED) {
    throw CheckpointError(fmt::format("{}: cannot be mapped: {}", path.string(), cause_of(errno)));
  }
  mapping_->contents = {static_cast<const std::byte*>(address),
                        static_cast<std::size_t>(file.bytes)};
  for (FileEntry& entry : header.entries) {
    mapping_->tensors.push_back({.name = std::move(entry.name),
                                 .type = entry.type,
                                 .shape = std::move(entry.shape),
                                 .bytes = mapping_->contents.subspan(
                                     static_cast<std::size_t>(header.data_begin + entry.begin),
                                     static_cast<std::size_t>(entry.end - entry.begin))});
  }
  std::ranges::sort(mapping_->tensors, {}, &TensorRecord::name);
}

SafetensorsFile::~SafetensorsFile() = default;
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;
SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&&) noexcept = default;

const std::filesystem::path& SafetensorsFile::path() const { return mapping_->path; }

std::span<const TensorRecord> SafetensorsFile::tensors() const { return mapping_->tensors; }

const TensorRecord* SafetensorsFile::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(mapping_->tensors, name, {}, &TensorRecord::name);
  return found != mapping_->tensors.end() && found->name == name ? &*found : nullptr;
}

std::span<const std::byte> SafetensorsFile::contents() const { return mapping_->contents; }

}  // namespace gangway::checkpoint
