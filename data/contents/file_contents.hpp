// SPDX-License-Identifier: MIT
// Checks that the files of a data set are unchanged. Hashes all files at first, and later those
// that look changed. Called where a folder of pictures is opened for training.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.hpp"
#include "data/contents/file_index.hpp"
#include "job/data_files.hpp"

namespace gangway::data {

/// Options and results of the check of all files' contents.
struct ContentsCheck {
  /// Folder of indexes, one file for each data folder. If empty or not writable, each start reads
  /// all files.
  std::filesystem::path index_folder = {};
  /// Folder of the run's hashes of Python examples; empty: they are not compared.
  std::filesystem::path run_folder = {};
  /// Reports bytes read of the total, now and then, on the calling thread.
  std::function<void(std::uint64_t bytes, std::uint64_t total)> progress = {};
  DataFiles found = {};                 ///< without the fingerprint
  std::vector<std::string> notes = {};  ///< messages for users about cached data
};

/// Returns $XDG_CACHE_HOME/gangway/data, else ~/.cache/gangway/data; empty without a home.
[[nodiscard]] std::filesystem::path index_folder_of(const Environment& environment);

struct ListedFile {
  std::string name;  ///< path below the folder
  FileStamp stamp;
};

/// Reads a listed file whole; called by several threads.
using ListedReader = std::function<std::vector<std::uint8_t>(std::size_t listed)>;

/// Returns the hashes of `files` below `place` from the index; reads new and changed files, then
/// rewrites the index. One process of a host does the work while others wait.
/// @param place  a folder, a container file, or a pattern of container files
/// @param files  ascending by name
/// @param reader  reads files within containers; null: they are files below `place`
/// @return one entry for each file
/// @throws ConfigError naming an unreadable file
[[nodiscard]] std::vector<IndexedFile> contents_of(const std::filesystem::path& place,
                                                   std::span<const ListedFile> files,
                                                   const ContentsCheck& check,
                                                   const ListedReader& reader = {});

[[nodiscard]] std::uint64_t hash_of(std::span<const std::uint8_t> bytes);
[[nodiscard]] std::uint64_t crc_of(std::span<const std::uint8_t> bytes);

/// Returns the few files whose change was noticed last.
[[nodiscard]] std::vector<ChangedFile> last_changed(std::span<const IndexedFile> files);

/// Returns the marks of `count` files described by `name(i)` and `crc(i)`.
[[nodiscard]] std::vector<DataMark> marks_of(
    std::size_t count, const std::function<std::string_view(std::size_t)>& name,
    const std::function<std::uint64_t(std::size_t)>& crc);

}  // namespace gangway::data
