// SPDX-License-Identifier: MIT
// Finds out, before the networks are made, whether a job's pictures are grey or in colour, and how
// many labels they have. Opens the pictures that a command names. Main thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "data/archives/image_archive.hpp"
#include "job/spec.hpp"

namespace gangway::launch {

struct SourceFacts {
  bool is_gray = true;  ///< all sampled pictures are grey, even if some are saved as colour
  int classes = 0;      ///< 0: no labels
};

/// Returns the place behind images:, pairs: or unpaired:; empty: a source without picture files.
[[nodiscard]] std::string pictures_of(const std::string& source);

/// Opens pictures. @param location  a folder, a file or a pattern of tars, as the user typed it
/// @throws ConfigError naming the first folder or file that does not exist; as open_image_archive
[[nodiscard]] std::unique_ptr<data::ImageArchive> open_pictures(const std::string& location);

/// True if only the files contain the facts: folders and ZIPs of pictures.
[[nodiscard]] bool is_looked_at(const DataSpec& data);

/// Reads up to 64 evenly spread pictures. Returns nullopt for points and for a source that cannot
/// be read; opening that source reports why.
[[nodiscard]] std::optional<SourceFacts> source_facts(const DataSpec& spec);

}  // namespace gangway::launch
