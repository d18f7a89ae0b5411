// SPDX-License-Identifier: MIT
#include "launch/data/source_facts.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "data/archives/open_archive.hpp"
#include "data/archives/tar_archive.hpp"
#include "data/image_labels.hpp"
#include "data/images/image_decoder.hpp"
#include "data/kept/pack_files.hpp"
#include "job/data_source.hpp"

namespace gangway::launch {
namespace {

constexpr std::string_view kLabelledPictures = "images:";
constexpr std::size_t kMostFiles = 64;
/// Of 255: largest channel difference of a grey picture that was saved in colour, as JPEG.
constexpr int kNoise = 12;
/// Side in pixels: a reduced picture decodes faster and has the same colours.
constexpr int kEnoughToTell = 32;

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

bool are_gray(const data::ImageArchive& archive) {
  const std::size_t count = archive.entries().size();
  const std::size_t looked_at = std::min(count, kMostFiles);
  for (std::size_t i = 0; i < looked_at; ++i) {
    const std::size_t index = i * count / looked_at;
    if (has_colours(data::decode_image(archive.read(index), archive.display_name(index),
                                       {.wanted_side = kEnoughToTell}))) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string pictures_of(const std::string& source) {
  for (const std::string_view form :
       {kLabelledPictures, std::string_view("pairs:"), std::string_view("unpaired:")}) {
    if (source.starts_with(form)) {
      return source.substr(form.size());
    }
  }
  return {};
}

std::unique_ptr<data::ImageArchive> open_pictures(const std::string& location) {
  for (const std::filesystem::path& file : data::tars_of(location)) {
    if (std::error_code failure; !std::filesystem::exists(file, failure) && !failure) {
      throw ConfigError(fmt::format("{}: there is no such folder or file", file.string()));
    }
  }
  return data::open_image_archive(location);
}

bool is_looked_at(const DataSpec& data) {
  return data.source.starts_with(kPackSource) || !pictures_of(data.source).empty();
}

std::optional<SourceFacts> source_facts(const DataSpec& spec) {
  if (!is_looked_at(spec)) {
    return spec.source.starts_with("toy:")
               ? std::nullopt
               : std::optional(SourceFacts{.is_gray = spec.source != kStackedSource});
  }
  const std::string location = pictures_of(spec.source);
  try {
    if (location.empty()) {
      const data::Pack pack = data::read_pack(spec.source.substr(kPackSource.size()));
      return SourceFacts{.is_gray = pack.channels == 1, .classes = pack.num_classes};
    }
    const auto archive = data::open_image_archive(location);
    if (archive->entries().empty()) {
      return std::nullopt;
    }
    return SourceFacts{.is_gray = are_gray(*archive),
                       .classes = spec.source.starts_with(kLabelledPictures)
                                      ? data::labels_of(*archive, location).num_classes
                                      : 0};
  } catch (const ConfigError&) {  // the training reports the error
    return std::nullopt;
  }
}

}  // namespace gangway::launch
