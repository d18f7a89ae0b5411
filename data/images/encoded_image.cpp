// SPDX-License-Identifier: MIT
#include "data/images/encoded_image.hpp"

#include <fmt/format.h>

#include "base/errors.hpp"

namespace gangway::data {

void fail(const EncodedImage& file, std::string_view what) {
  throw ConfigError(fmt::format("{}: {}; replace or remove the file", file.name, what));
}

void require_size(const EncodedImage& file, std::int64_t width, std::int64_t height) {
  if (width < 1 || height < 1 || height > file.options.most_pixels / width) {
    fail(file, fmt::format("{} x {} pixels cannot be read (at most {} in all)", width, height,
                           file.options.most_pixels));
  }
}

}  // namespace gangway::data
