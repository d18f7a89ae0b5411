// SPDX-License-Identifier: MIT
// Files in the IDX format of MNIST (LeCun, Cortes, Burges), plain or compressed by gzip. Used by
// the IDX data set.
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

/// Reads the whole file. Memory grows with what the file really holds, never with what its header
/// claims.
/// @param axes expected number of axes: 1 for labels, 3 for images.
/// @throws ConfigError naming the file: missing, wrong magic, truncated, damaged, longer than
/// announced.
[[nodiscard]] IdxArray read_idx(const std::filesystem::path& path, int axes);

}  // namespace gangway::data
