// SPDX-License-Identifier: MIT
#include "data/contents/file_index.hpp"

#include <array>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>

#include <xxhash.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"

namespace gangway::data {
namespace {

/// Format of the index; another magic is no index.
constexpr std::string_view kMagic = "gangway files 1\n";
constexpr std::int64_t kNanosecondsInASecond = 1'000'000'000;

std::int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * kNanosecondsInASecond + time.tv_nsec;
}

template <typename Number>
void put(Number number, std::string& text) {
  text.append(reinterpret_cast<const char*>(&number), sizeof number);
}

/// Removes a number from the front of `text`, which has enough bytes.
template <typename Number>
void take(std::string_view& text, Number& number) {
  std::memcpy(&number, text.data(), sizeof number);
  text.remove_prefix(sizeof number);
}

/// Returns a file's numbers (all but its name) in the order of the index.
auto numbers_of(auto& file) {
  return std::array{&file.stamp.bytes, &file.stamp.modified_ns, &file.stamp.changed_ns,
                    &file.noticed};
}

constexpr std::size_t kBytesOfAFile = 8 * sizeof(std::uint64_t);  // the name follows

}  // namespace

FileStamp stamp_of(const struct stat& status) {
  return {.bytes = status.st_size,
          .modified_ns = nanoseconds(status.st_mtim),
          .changed_ns = nanoseconds(status.st_ctim),
          .inode = status.st_ino};
}

std::vector<IndexedFile> read_index(const std::filesystem::path& path) {
  std::error_code failure;
  const std::uintmax_t size = std::filesystem::file_size(path, failure);
  std::optional<std::string> content;
  try {
    content = failure ? std::nullopt : read_small_file(path, size);
  } catch (const EnvironmentError&) {
    return {};  // without an index, all files are read
  }
  std::uint64_t hash = 0;
  if (!content || content->size() < kMagic.size() + sizeof hash || !content->starts_with(kMagic)) {
    return {};
  }
  std::string_view rest(*content);
  std::string_view tail = rest.substr(rest.size() - sizeof hash);
  take(tail, hash);
  rest.remove_suffix(sizeof hash);
  if (XXH3_64bits(rest.data(), rest.size()) != hash) {
    return {};
  }
  rest.remove_prefix(kMagic.size());
  std::vector<IndexedFile> files;
  while (rest.size() >= kBytesOfAFile) {
    IndexedFile& file = files.emplace_back();
    for (std::int64_t* number : numbers_of(file)) {
      take(rest, *number);
    }
    std::uint64_t length = 0;
    take(rest, file.stamp.inode);
    take(rest, file.hash);
    take(rest, file.crc);
    take(rest, length);
    if (length > rest.size()) {
      return {};
    }
    file.name = rest.substr(0, length);
    rest.remove_prefix(length);
  }
  return files;
}

void write_index(const std::filesystem::path& path, const std::vector<IndexedFile>& files) {
  std::string content(kMagic);
  for (const IndexedFile& file : files) {
    for (const std::int64_t* number : numbers_of(file)) {
      put(*number, content);
    }
    put(file.stamp.inode, content);
    put(file.hash, content);
    put(file.crc, content);
    put(std::uint64_t{file.name.size()}, content);
    content += file.name;
  }
  put(std::uint64_t{XXH3_64bits(content.data(), content.size())}, content);
  const std::filesystem::path beside = path.string() + ".tmp";
  {
    std::ofstream file(beside, std::ios::binary | std::ios::trunc);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    if (!file.flush()) {
      return;
    }
  }
  std::error_code ignored;
  std::filesystem::rename(beside, path, ignored);
}

}  // namespace gangway::data
