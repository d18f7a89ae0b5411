// SPDX-License-Identifier: MIT
// Creates a pack from an archive of pictures. Called by `gangway data pack`; main thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "data/archives/image_archive.hpp"
#include "data/kept/pack_files.hpp"

namespace gangway::data {

struct PackOptions {
  std::filesystem::path folder;  ///< of the pack: empty, missing, or left by a killed packer
  int resolution = 64;
  int threads = 1;                                    ///< decoding threads
  std::size_t shard_bytes = std::size_t{256} << 20U;  ///< at most, but at least a picture
};

/// Writes the pictures as training reads them at that resolution, in their order.
/// @param location  of the archive, for messages
/// @throws ConfigError if a picture is unreadable or the folder holds other files; EnvironmentError
/// if writing fails
Pack write_pack(const ImageArchive& archive, const std::string& location,
                const PackOptions& options);

}  // namespace gangway::data
