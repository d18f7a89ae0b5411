// SPDX-License-Identifier: MIT
// Sorts the files of a folder or ZIP by side and by part (training, held out), from their folders'
// names. Pure. Used by the data sets of two sides.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "data/archives/image_archive.hpp"
#include "data/two_sides.hpp"

namespace gangway::data {

/// Indices into the archive's entries.
struct SidedFiles {
  std::vector<std::size_t> whole;   ///< of no side: one picture holds both, side by side
  std::vector<std::size_t> first;   ///< in a folder a, A, trainA …
  std::vector<std::size_t> second;  ///< b, B, trainB …
};

/// Returns the entries of one part, in their order. Folders train, trainA, … (any case) are for
/// training; test, testA, … are held out, or val, valA, … without a test. Other files are for
/// training, unless a train folder exists.
/// @param within  folders that hold all entries; their names count too (ImageArchive)
[[nodiscard]] SidedFiles sided_files(const std::vector<ArchiveEntry>& entries, SourcePart part,
                                     const std::string& within = {});

struct FilePair {
  std::size_t first = 0;
  std::size_t second = 0;
};
/// Pairs files whose names are equal except for the side's folder and the ending.
/// @throws ConfigError naming a file without a partner
[[nodiscard]] std::vector<FilePair> paired(const SidedFiles& files, const ImageArchive& archive);

}  // namespace gangway::data
