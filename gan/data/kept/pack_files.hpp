// SPDX-License-Identifier: MIT
// The files of a pack: pictures of one size that are decoded and resized already (`gangway data
// pack`). Written by write_pack, read by PackDataset.
//
// A folder: shards of 256 MiB at most, each picture's bytes row by row, channels interleaved;
// `index.bin`, XXH3 and label of each picture, 8 bytes each, little-endian; `pack.json`, written
// last, which names them all with their hashes. Without it there is no pack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gangway::data {

inline constexpr std::string_view kPackManifest = "pack.json";
inline constexpr std::string_view kPackIndex = "index.bin";
inline constexpr std::string_view kShardEnding = ".shard";

struct PackEntry {
  std::uint64_t hash = 0;  ///< XXH3 of the picture's bytes
  std::int64_t label = 0;
};

struct PackShard {
  std::string file;         ///< its name in the folder
  std::uint64_t bytes = 0;  ///< a whole number of pictures
  std::uint64_t hash = 0;   ///< XXH3 of it
};

struct Pack {
  int resolution = 0;
  int channels = 1;  ///< 3 where any picture has colours
  int num_classes = 0;
  std::vector<PackShard> shards;
  std::vector<PackEntry> entries;  ///< in the order of the pictures they were made of
  std::string fingerprint;         ///< of pack.json

  [[nodiscard]] std::size_t picture_bytes() const {
    return static_cast<std::size_t>(resolution) * static_cast<std::size_t>(resolution) *
           static_cast<std::size_t>(channels);
  }
};

/// What pack.json and index.bin of `folder` say; whether the shards are as long is looked at too.
/// @throws ConfigError naming the file that is missing, changed or cut
[[nodiscard]] Pack read_pack(const std::filesystem::path& folder);

/// index.bin, then pack.json, each whole or not at all. @throws EnvironmentError
void write_manifest(const std::filesystem::path& folder, const Pack& pack);

}  // namespace gangway::data
