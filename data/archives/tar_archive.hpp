// SPDX-License-Identifier: MIT
// Presents tars of pictures as one archive: WebDataset shards, or packed folders. Called by
// open_image_archive.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "data/archives/image_archive.hpp"
#include "data/contents/file_contents.hpp"

namespace gangway::data {

/// Returns the tars of an archive, also compressed ones: the tars in a folder, those of a pattern
/// such as "faces-{0000..0007}.tar", or `place` itself. Empty for a folder without tars.
/// @throws ConfigError for a pattern of more than 100,000 names
[[nodiscard]] std::vector<std::filesystem::path> tars_of(const std::filesystem::path& place);

/// Returns whether the file name ends as a tar's, compressed or not.
[[nodiscard]] bool is_named_as_tar(const std::filesystem::path& path);

/// Opens tars. Files with the same name up to the first dot form a sample: a picture and its label.
/// The label is a decimal number in a .cls file, or the key "label" in a .json file.
/// @param place  value of data.source
/// @param check  as for open_image_archive
/// @throws ConfigError: a damaged or compressed tar; two pictures in a sample; an invalid label, or
/// labels for some only; a picture that is a link or of an unsupported format
[[nodiscard]] std::unique_ptr<ImageArchive> open_tars(
    const std::vector<std::filesystem::path>& tars, const std::filesystem::path& place,
    ContentsCheck* check);

}  // namespace gangway::data
