// SPDX-License-Identifier: MIT
// Data sets whose pictures are decoded and resized already, from a cache or a pack. Used where data
// sets are opened.
#pragma once

#include <filesystem>
#include <memory>

#include "gan/data/contents/file_contents.hpp"
#include "gan/data/dataset.hpp"
#include "job/spec.hpp"

namespace gangway::data {

/// `all` behind the job's cache, if it has one, and if `check` says where it may lie; what people
/// should know of it goes to check->notes.
[[nodiscard]] std::unique_ptr<Dataset> cached(std::unique_ptr<Dataset> all, const DataSpec& spec,
                                              ContentsCheck* check);

/// The pictures of a pack (gan/data/kept/pack_files.hpp).
/// @throws ConfigError naming the file: missing, changed, cut, of another resolution
[[nodiscard]] std::unique_ptr<Dataset> open_pack(const std::filesystem::path& folder,
                                                 const ModelSpec& model);

}  // namespace gangway::data
