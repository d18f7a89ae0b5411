// SPDX-License-Identifier: MIT
// A file of the user's as a value. Standard library alone.
#pragma once

#include <string>

namespace gangway {

/// A file whose content belongs to the job, wherever it lies.
struct HashedFile {
  std::string file;  ///< empty: there is none
  std::string hash;  ///< XXH3-128 of its bytes, 32 hexadecimal digits; empty: not looked at yet
  bool operator==(const HashedFile&) const = default;
};

}  // namespace gangway
