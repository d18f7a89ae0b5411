// SPDX-License-Identifier: MIT
// Copies libraries (tests/libraries/), unchanged or damaged. A loaded file must not be changed, so
// each damaged copy is another file.
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

/// Returns the library's text that names its compilation, from its first character on.
inline std::size_t interface_place(const std::string& bytes) {
  constexpr std::string_view kMark = "gangway-library-interface ";
  const std::size_t mark = bytes.find(kMark);
  if (mark == std::string::npos) {
    throw std::runtime_error("the test's library says nothing");
  }
  return mark + kMark.size();
}

/// Returns the bytes of a library for Gangway 9.… instead of 0.….
inline std::string of_another_version(std::string bytes) {
  bytes.at(interface_place(bytes)) = '9';
  return bytes;
}

/// Returns the bytes of a library made with LibTorch 9.… instead of 2.….
inline std::string of_another_torch(std::string bytes) {
  bytes.at(bytes.find(' ', interface_place(bytes)) + 1) = '9';
  return bytes;
}

}  // namespace gangway::testing
