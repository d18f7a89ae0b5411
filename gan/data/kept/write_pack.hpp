// SPDX-License-Identifier: MIT
// Makes a pack of an archive of pictures. Called by `gangway data pack`; main thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "gan/data/archives/image_archive.hpp"
#include "gan/data/kept/pack_files.hpp"

namespace gangway::data {

struct PackOptions {
  std::filesystem::path folder;  ///< of the pack: empty, not there, or what a killed packer left
  int resolution = 64;
  int threads = 1;                                    ///< that decode
  std::size_t shard_bytes = std::size_t{256} << 20U;  ///< at most; a picture at least
};

/// Writes what training reads of these pictures at that resolution, in their order.
/// @param location  of the archive, for messages
/// @throws ConfigError: a picture cannot be read, the folder holds something else;
/// EnvironmentError: it cannot be written
Pack write_pack(const ImageArchive& archive, const std::string& location,
                const PackOptions& options);

}  // namespace gangway::data
