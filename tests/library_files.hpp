// SPDX-License-Identifier: MIT
// Copies of libraries (tests/libraries/), as they are or spoilt. A loaded file must not be written
// to: each spoilt one is a file of its own.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/scratch_folder.hpp"

namespace gangway::testing {

inline std::string bytes_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

/// What the library says that it was compiled with, from its first character on.
inline std::size_t interface_place(const std::string& bytes) {
  constexpr std::string_view kMark = "gangway-library-interface ";
  const std::size_t mark = bytes.find(kMark);
  if (mark == std::string::npos) {
    throw std::runtime_error("the test's library says nothing");
  }
  return mark + kMark.size();
}

/// The bytes of a library for Gangway 9.…, not 0.….
inline std::string of_another_version(std::string bytes) {
  bytes.at(interface_place(bytes)) = '9';
  return bytes;
}

/// The bytes of a library made with LibTorch 9.…, not 2.….
inline std::string of_another_torch(std::string bytes) {
  bytes.at(bytes.find(' ', interface_place(bytes)) + 1) = '9';
  return bytes;
}

}  // namespace gangway::testing
