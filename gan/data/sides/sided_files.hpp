// SPDX-License-Identifier: MIT
// Which files of a folder or a ZIP are of which side, and which are held out, told by the names of
// the folders that they lie in. Pure. Used by the data sets of two sides.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gan/data/archives/image_archive.hpp"
#include "gan/data/two_sides.hpp"

namespace gangway::data {

/// Indices into the archive's entries.
struct SidedFiles {
  std::vector<std::size_t> whole;   ///< of no side: both are in one picture, side by side
  std::vector<std::size_t> first;   ///< in a folder a, A, trainA …
  std::vector<std::size_t> second;  ///< b, B, trainB …
};

/// The entries of one part: folders train, trainA, … are for training, test, testA, … held out, or
/// val, valA, … where there is no test; what lies in neither is for training, unless there is a
/// folder train. Letters of any size. In the order of the entries.
/// @param within  the folders that hold all of them, which say something too: ImageArchive
[[nodiscard]] SidedFiles sided_files(const std::vector<ArchiveEntry>& entries, SourcePart part,
                                     const std::string& within = {});

struct FilePair {
  std::size_t first = 0;
  std::size_t second = 0;
};
/// Those of equal name but for the side's folder and the ending.
/// @throws ConfigError naming a file that is alone
[[nodiscard]] std::vector<FilePair> paired(const SidedFiles& files, const ImageArchive& archive);

}  // namespace gangway::data
