// SPDX-License-Identifier: MIT
#include "data/archives/archive_names.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "data/images/label_list.hpp"

namespace gangway::data {
namespace {

/// Maximum bytes of a file that is read or unpacked into memory.
constexpr std::uint64_t kLargestArchiveFile = std::uint64_t{1} << 30;
/// Above this size, a file compressed by more than kDensest is a decompression bomb.
constexpr std::uint64_t kLargestDense = std::uint64_t{1} << 24;
constexpr std::uint64_t kDensest = 200;

/// Returns the folder of `path` with its slash; empty at the top.
std::string_view folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return path.substr(0, slash == std::string_view::npos ? 0 : slash + 1);
}

}  // namespace

void require_bearable(std::string_view name, std::uint64_t bytes, std::uint64_t packed) {
  if (bytes > kLargestDense && packed < bytes / kDensest) {
    throw ConfigError(fmt::format("{}: {} bytes packed in {}, which no picture is; remove it", name,
                                  bytes, packed));
  }
  if (bytes > kLargestArchiveFile) {
    throw ConfigError(
        fmt::format("{}: {} bytes are more than a picture has (1 GiB); remove it", name, bytes));
  }
}

std::string tidy(std::vector<ArchiveEntry>& entries) {
  std::ranges::stable_sort(entries, {}, &ArchiveEntry::name);
  if (entries.empty()) {
    return {};
  }
  const std::string& first = entries.front().name;
  const std::string& last = entries.back().name;
  const auto differ = std::mismatch(first.begin(), first.end(), last.begin(), last.end()).first;
  const std::string shared(first.begin(), differ);
  const std::size_t slash = shared.rfind('/');
  const std::size_t taken = slash == std::string::npos ? 0 : slash + 1;
  const std::string prefix = first.substr(0, taken);
  for (ArchiveEntry& entry : entries) {
    entry.name.erase(0, taken);
  }
  return prefix;
}

void fail_changed(const std::string& name) {
  throw ConfigError(
      fmt::format("{}: has changed since it was listed at the start; give the old file back, or "
                  "start again to train on what is there now",
                  name));
}

bool LabelFileChoice::is_one(std::string_view name) {
  return name.substr(folder_of(name).size()) == kLabelListName;
}

std::optional<LabelFileChoice::Chosen> LabelFileChoice::nearest_to(
    const std::string& prefix) const {
  std::optional<Chosen> nearest;
  for (const ArchiveEntry& file : found_) {
    const std::string_view folder = folder_of(file.name);
    if (prefix.starts_with(folder) &&
        (!nearest || folder.size() > folder_of(nearest->file.name).size())) {
      nearest = {file, prefix.substr(folder.size())};
    }
  }
  return nearest;
}

}  // namespace gangway::data
