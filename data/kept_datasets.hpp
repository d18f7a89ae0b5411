// SPDX-License-Identifier: MIT
// Opens data sets of decoded and resized pictures: a cache or a pack. Used where data sets are
// opened.
#pragma once

#include <filesystem>
#include <memory>

#include "data/contents/file_contents.hpp"
#include "data/dataset.hpp"
#include "job/spec.hpp"

namespace gangway::data {

/// Puts the job's cache in front of `all`, if the job has one and `check` has a folder for it. Adds
/// messages for users to check->notes.
[[nodiscard]] std::unique_ptr<Dataset> cached(std::unique_ptr<Dataset> all, const DataSpec& spec,
                                              ContentsCheck* check);

/// Opens the pictures of a pack (data/kept/pack_files.hpp).
/// @throws ConfigError naming a file that is missing, changed, cut or of another resolution
[[nodiscard]] std::unique_ptr<Dataset> open_pack(const std::filesystem::path& folder,
                                                 const ModelSpec& model);

}  // namespace gangway::data
