// SPDX-License-Identifier: MIT
// Reads files in the IDX format of MNIST (LeCun, Cortes, Burges), plain or gzip. Used by the IDX
// data set.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace gangway::data {

/// The unsigned bytes of an IDX file.
struct IdxArray {
  std::vector<std::int64_t>
      sizes;  ///< one an axis: {count} for labels, {count, rows, columns} for images
  std::vector<std::uint8_t> values;  ///< row-major
};

/// Reads the whole file. Memory use depends on the data present, never on the header's sizes.
/// @param axes  expected number of axes: 1 for labels, 3 for images
/// @throws ConfigError naming a file that is missing, truncated, damaged, too long, or has a wrong
/// magic number
[[nodiscard]] IdxArray read_idx(const std::filesystem::path& path, int axes);

}  // namespace gangway::data
