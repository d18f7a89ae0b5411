// SPDX-License-Identifier: MIT
#include "gan/data/archives/lmdb_archive.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text/utf8.hpp"
#include "gan/data/archives/archive_names.hpp"
#include "gan/data/archives/container_archive.hpp"
#include "gan/data/archives/lmdb_index.hpp"

namespace gangway::data {
namespace {

/// Less than any picture has; some writers put counts beside the pictures.
constexpr std::uint64_t kSmallestPicture = 24;

bool is_text(std::string_view key) {
  constexpr unsigned char kDelete = 0x7F;
  return !key.empty() && !find_invalid_utf8(key) &&
         std::ranges::all_of(key,
                             [](unsigned char byte) { return byte >= ' ' && byte != kDelete; });
}

std::string in_digits(std::string_view key) {
  std::string digits;
  for (const char byte : key) {
    digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  return digits;
}

}  // namespace

std::unique_ptr<ImageArchive> open_lmdb(const std::filesystem::path& file,
                                        const std::filesystem::path& place, ContentsCheck* check) {
  InnerFiles found;
  Container container = open_container(file);
  const std::vector<LmdbValue> values = read_lmdb(container);
  const bool are_text = std::ranges::all_of(values, is_text, &LmdbValue::key);
  for (const LmdbValue& value : values) {
    if (LabelFileChoice::is_one(value.key)) {
      found.label_lists.push_back({.name = value.key, .part = value.part});
    } else if (value.part.bytes == 0 || value.part.bytes >= kSmallestPicture) {
      found.pictures.push_back(
          {.name = are_text ? value.key : in_digits(value.key), .part = value.part});
    }
  }
  found.containers.push_back(std::move(container));
  return archive_of(std::move(found), place, check);
}

}  // namespace gangway::data
