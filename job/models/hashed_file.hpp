// SPDX-License-Identifier: MIT
// A user's file as a value. Standard library alone.
#pragma once

#include <string>

namespace gangway {

/// A file whose content belongs to the job, at any path.
struct HashedFile {
  std::string file;  ///< empty: no file
  std::string hash;  ///< XXH3-128 of its bytes, 32 hexadecimal digits; empty: not computed yet
  bool operator==(const HashedFile&) const = default;
};

}  // namespace gangway
