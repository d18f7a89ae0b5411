// SPDX-License-Identifier: MIT
#include "launch/data/colour_note.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "gan/data/images/image_archive.hpp"
#include "gan/data/images/image_decoder.hpp"

namespace gangway::launch {
namespace {

/// Of 255: what a grey picture that was saved in colour, as JPEG, may have.
constexpr int kNoise = 12;

bool has_colours(const data::Pixels& image) {
  for (std::size_t at = 0; image.channels == 3 && at + 2 < image.values.size(); at += 3) {
    const auto [darkest, brightest] =
        std::minmax({image.values[at], image.values[at + 1], image.values[at + 2]});
    if (brightest - darkest > kNoise) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<std::string> colour_notes(const JobSpec& spec) {
  constexpr std::string_view kPictures = "images:";
  const std::string& source = spec.data.source;
  if (spec.model.channels != 1 || !source.starts_with(kPictures)) {
    return {};
  }
  const std::string location = source.substr(kPictures.size());
  if (!std::filesystem::exists(location)) {
    return {};
  }
  try {
    const auto archive = data::open_image_archive(location);
    if (archive->entries().empty() ||
        !has_colours(data::decode_image(archive->read(0), archive->display_name(0)))) {
      return {};
    }
  } catch (const ConfigError&) {  // whoever trains on it says what is wrong
    return {};
  }
  return {fmt::format(
      "data.source {} has colour pictures, and model.channels is 1: they are trained grey; "
      "model.channels=3 keeps their colours",
      source)};
}

}  // namespace gangway::launch
