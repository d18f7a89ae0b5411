// SPDX-License-Identifier: MIT
// Tars of pictures as one archive: shards of WebDataset as they are, or a folder that was packed.
// Called by open_image_archive.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "gan/data/archives/image_archive.hpp"
#include "gan/data/contents/file_contents.hpp"

namespace gangway::data {

/// The tars of one archive, by their names: those that lie in a folder, compressed ones
/// too, or that a pattern such as
/// "faces-{0000..0007}.tar" stands for; else the place alone. None: a folder without tars.
/// @throws ConfigError for a pattern of more than 100,000
[[nodiscard]] std::vector<std::filesystem::path> tars_of(const std::filesystem::path& place);

/// By its ending, compressed ones too.
[[nodiscard]] bool is_named_as_tar(const std::filesystem::path& path);

/// Files of one name up to the first dot behind the folders are one sample: a picture, and its
/// label in a file .cls, as a decimal number, or .json, by the key "label".
/// @param place  what data.source names
/// @param check  as of open_image_archive
/// @throws ConfigError: a tar is damaged or compressed; two pictures in a sample; a label that is
/// none, or that only some have; a picture that is a link, or of a kind that is not read
[[nodiscard]] std::unique_ptr<ImageArchive> open_tars(
    const std::vector<std::filesystem::path>& tars, const std::filesystem::path& place,
    ContentsCheck* check);

}  // namespace gangway::data
