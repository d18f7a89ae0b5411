// SPDX-License-Identifier: MIT
// Whether the files of a data set are what they were: all are hashed at the first sight, and again
// where they look changed. Called where a folder of pictures is opened to be trained on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.hpp"
#include "gan/data/contents/file_index.hpp"
#include "job/data_files.hpp"

namespace gangway::data {

/// Asks for the contents of all files, and takes what is found.
struct ContentsCheck {
  /// Where indexes lie, a file a folder of data; empty, or a place that cannot be written: all
  /// files are read at each start.
  std::filesystem::path index_folder = {};
  /// Where a run keeps hashes of examples in Python; empty: they are not compared.
  std::filesystem::path run_folder = {};
  /// Told now and then, on the calling thread, while files are read: how much of what is to be.
  std::function<void(std::uint64_t bytes, std::uint64_t total)> progress = {};
  DataFiles found = {};                 ///< but for the fingerprint
  std::vector<std::string> notes = {};  ///< for people, of what is kept of the data
};

/// $XDG_CACHE_HOME/gangway/data, else ~/.cache/gangway/data; empty where there is no home.
[[nodiscard]] std::filesystem::path index_folder_of(const Environment& environment);

struct ListedFile {
  std::string name;  ///< below the folder
  FileStamp stamp;
};

/// Reads a listed file whole; called by several threads.
using ListedReader = std::function<std::vector<std::uint8_t>(std::size_t listed)>;

/// What an index has of `files` below `place`, which are read where it has nothing or they look
/// changed; then it is written anew. One process of a host does that, the others wait for it.
/// @param place  a folder; or a file that holds others, or a pattern that names some
/// @param files  ascending by name
/// @param reader  of files that lie within others; null: they are files below `place`
/// @return as many
/// @throws ConfigError naming a file that cannot be read
[[nodiscard]] std::vector<IndexedFile> contents_of(const std::filesystem::path& place,
                                                   std::span<const ListedFile> files,
                                                   const ContentsCheck& check,
                                                   const ListedReader& reader = {});

[[nodiscard]] std::uint64_t hash_of(std::span<const std::uint8_t> bytes);
[[nodiscard]] std::uint64_t crc_of(std::span<const std::uint8_t> bytes);

/// Of all files, the few that were noticed last.
[[nodiscard]] std::vector<ChangedFile> last_changed(std::span<const IndexedFile> files);

/// Of `count` files that `name(i)` and `crc(i)` tell of.
[[nodiscard]] std::vector<DataMark> marks_of(
    std::size_t count, const std::function<std::string_view(std::size_t)>& name,
    const std::function<std::uint64_t(std::size_t)>& crc);

}  // namespace gangway::data
