// SPDX-License-Identifier: MIT
// Where the values of an LMDB lie. Read here, page by page, and not by liblmdb: that believes what
// it maps, so that a file that is cut or damaged ends the process by a signal. Used by the archive
// of an LMDB.
#pragma once

#include <string>
#include <vector>

#include "gan/data/archives/file_part.hpp"

namespace gangway::data {

struct LmdbValue {
  std::string key;  ///< any bytes
  FilePart part;
};

/// All values of the database that has no name, by their keys in its order.
/// @throws ConfigError naming the file: none, another version's, cut, damaged, with databases that
/// have names, several values a key
[[nodiscard]] std::vector<LmdbValue> read_lmdb(const Container& file);

/// Whether a file begins as an LMDB does. @param bytes  its first
[[nodiscard]] bool is_lmdb(std::span<const std::uint8_t> bytes);

}  // namespace gangway::data
