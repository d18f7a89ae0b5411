// SPDX-License-Identifier: MIT
#include "launch/data/picture_facts.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/system/usable_cores.hpp"
#include "gan/data/archives/open_archive.hpp"
#include "gan/data/archives/tar_archive.hpp"
#include "gan/data/survey.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

/// Of a large set so many tell enough.
constexpr std::int64_t kMostLookedAt = 2'000;

/// Of the shorter sides.
int median_side(const data::Survey& survey) {
  std::vector<std::pair<int, std::int64_t>> sides;
  for (const auto& [size, count] : survey.sizes) {
    sides.emplace_back(std::min(size.first, size.second), count);
  }
  std::ranges::sort(sides);
  std::int64_t left = survey.images / 2;
  for (const auto& [side, count] : sides) {
    if (left < count) {
      return side;
    }
    left -= count;
  }
  return 0;
}

}  // namespace

void require_there(const std::string& location) {
  for (const fs::path& file : data::tars_of(location)) {
    if (std::error_code failure; !fs::exists(file, failure) && !failure) {
      throw ConfigError(fmt::format("{}: there is no such folder or file", file.string()));
    }
  }
}

PictureFacts picture_facts(const std::string& location) {
  const auto archive = data::open_image_archive(location);
  if (archive->entries().empty()) {
    throw ConfigError(
        fmt::format("{}: holds no .png, .jpg, .jpeg or .webp file; check the path", location));
  }
  const data::ImageLabels labels = data::labels_of(*archive, location);
  const data::Survey survey = data::survey_images(
      *archive, labels, {.samples = 0, .threads = usable_cores(), .most = kMostLookedAt});
  if (!survey.broken.empty()) {
    throw ConfigError(
        fmt::format("{}: a training would end at it; 'gangway data check {}' looks at all pictures",
                    survey.broken.front(), location));
  }
  PictureFacts facts{
      .source = fs::absolute(location).lexically_normal().string(),
      .pictures = static_cast<std::int64_t>(archive->entries().size()),
      .side = median_side(survey),
      .is_gray = survey.gray == survey.images,
      .by_label = std::vector<std::int64_t>(static_cast<std::size_t>(labels.num_classes))};
  for (const int label : labels.of_images) {
    ++facts.by_label[static_cast<std::size_t>(label)];
  }
  return facts;
}

}  // namespace gangway::launch
