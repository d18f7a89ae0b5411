// SPDX-License-Identifier: MIT
// Files of a pack: decoded pictures of one size (`gangway data pack`). Written by write_pack, read
// by PackDataset.
//
// A pack is a folder. Shards of at most 256 MiB hold each picture row by row, channels interleaved.
// `index.bin` holds XXH3 and label of each picture, 8 bytes each, little-endian. `pack.json` names
// all files with their hashes; it is written last, so without it there is no pack.
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
  std::string file;         ///< name in the folder
  std::uint64_t bytes = 0;  ///< a whole number of pictures
  std::uint64_t hash = 0;   ///< XXH3 of the shard
};

struct Pack {
  int resolution = 0;
  int channels = 1;  ///< 3 if any picture has colours
  int num_classes = 0;
  std::vector<PackShard> shards;
  std::vector<PackEntry> entries;  ///< in the order of the source pictures
  std::string fingerprint;         ///< hash of pack.json

  [[nodiscard]] std::size_t picture_bytes() const {
    return static_cast<std::size_t>(resolution) * static_cast<std::size_t>(resolution) *
           static_cast<std::size_t>(channels);
  }
};

/// Reads pack.json and index.bin of `folder`, and checks the lengths of the shards.
/// @throws ConfigError naming a file that is missing, changed or cut
[[nodiscard]] Pack read_pack(const std::filesystem::path& folder);

/// Writes index.bin, then pack.json, each atomically. @throws EnvironmentError
void write_manifest(const std::filesystem::path& folder, const Pack& pack);

}  // namespace gangway::data
