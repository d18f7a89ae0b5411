// SPDX-License-Identifier: MIT
// Writes small pictures of one colour, for tests of messages on data. Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "gan/pictures/png.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::testing {

/// Writes 8 x 8 pixels equal to `pixel`, of one channel or three.
inline void write_picture(const std::filesystem::path& file,
                          const std::vector<std::uint8_t>& pixel) {
  std::vector<std::uint8_t> pixels;
  for (int i = 0; i < 64; ++i) {
    pixels.insert(pixels.end(), pixel.begin(), pixel.end());
  }
  std::filesystem::create_directories(file.parent_path());
  pictures::write_png(
      file,
      {.height = 8, .width = 8, .channels = static_cast<int>(pixel.size()), .pixels = pixels});
}

}  // namespace gangway::testing
