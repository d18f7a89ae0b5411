// SPDX-License-Identifier: MIT
// Index of file hashes between starts, kept outside the data: a file that looks unchanged is not
// read again. Used by file_contents.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/stat.h>

namespace gangway::data {

/// Identifies a file's state without reading it. No program can set `changed_ns`.
struct FileStamp {
  std::int64_t bytes = 0;
  std::int64_t modified_ns = 0;  ///< since 1970, by the file system's clock
  std::int64_t changed_ns = 0;   ///< last change of contents, name or permissions
  std::uint64_t inode = 0;
  bool operator==(const FileStamp&) const = default;
};

[[nodiscard]] FileStamp stamp_of(const struct stat& status);

struct IndexedFile {
  std::string name;
  FileStamp stamp;           ///< all 0 if the file was too recent to trust its stamp
  std::uint64_t hash = 0;    ///< XXH3 of the contents
  std::uint64_t crc = 0;     ///< CRC-32 of the contents, as in a ZIP
  std::int64_t noticed = 0;  ///< Unix seconds when it was found new or changed; 0: never
  bool operator==(const IndexedFile&) const = default;
};

/// Returns the files of an index, ascending by name; empty if it is missing or damaged.
[[nodiscard]] std::vector<IndexedFile> read_index(const std::filesystem::path& path);

/// Replaces the index atomically; on failure keeps the old one. It does not sync because that costs
/// more than rereading many files after a power cut.
void write_index(const std::filesystem::path& path, const std::vector<IndexedFile>& files);

}  // namespace gangway::data
