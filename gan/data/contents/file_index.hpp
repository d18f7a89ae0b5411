// SPDX-License-Identifier: MIT
// What is remembered of the files of a data set from one start to the next, outside the data: a
// file that looks as it did when it was hashed is not read again. Used by file_contents.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/stat.h>

namespace gangway::data {

/// By what a file is known again without being read. No program can set `changed_ns`.
struct FileStamp {
  std::int64_t bytes = 0;
  std::int64_t modified_ns = 0;  ///< since 1970, by the file system's clock
  std::int64_t changed_ns = 0;   ///< of contents, name or permissions
  std::uint64_t inode = 0;
  bool operator==(const FileStamp&) const = default;
};

[[nodiscard]] FileStamp stamp_of(const struct stat& status);

struct IndexedFile {
  std::string name;
  FileStamp stamp;           ///< all 0 where it was so young that it may have changed unseen
  std::uint64_t hash = 0;    ///< XXH3 of the contents
  std::uint64_t crc = 0;     ///< their CRC-32, as a ZIP of the same files has it
  std::int64_t noticed = 0;  ///< unix seconds: when it was seen to be new or changed; 0: never
  bool operator==(const IndexedFile&) const = default;
};

/// The files of an index, ascending by name; none where there is no index or it is damaged.
[[nodiscard]] std::vector<IndexedFile> read_index(const std::filesystem::path& path);

/// Puts an index there whole, or leaves what was there: it is but a memory. It is not synced, which
/// takes longer than reading many files again after a power cut.
void write_index(const std::filesystem::path& path, const std::vector<IndexedFile>& files);

}  // namespace gangway::data
