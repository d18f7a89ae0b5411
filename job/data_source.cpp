// SPDX-License-Identifier: MIT
#include "job/data_source.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "base/text/utf8.hpp"

namespace gangway {
namespace {

constexpr std::string_view kGarments = "fashion-mnist";
constexpr int kGarmentLabels = 10;
constexpr std::string_view kIdxImages = "idx:";

std::optional<int> label_in(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_label = error == std::errc() && end == text.data() + text.size() && value >= 0;
  return is_label ? std::optional(value) : std::nullopt;
}

std::optional<TwoLabels> labels_behind(std::string_view words) {
  const std::size_t colon = words.rfind(':');
  const std::size_t comma = words.rfind(',');
  if (colon == std::string_view::npos || comma == std::string_view::npos || comma < colon) {
    return std::nullopt;
  }
  const auto first = label_in(words.substr(colon + 1, comma - colon - 1));
  const auto second = label_in(words.substr(comma + 1));
  return first && second ? std::optional(TwoLabels{words.substr(0, colon), *first, *second})
                         : std::nullopt;
}

bool has_labelled_images(std::string_view location) {
  return location == kGarments ||
         (location.starts_with(kIdxImages) && location.size() > kIdxImages.size());
}

}  // namespace

TwoLabels two_labels(std::string_view source) {
  return labels_behind(source.substr(kClassesSource.size())).value_or(TwoLabels{});
}

std::string misspelt_labels(std::string_view source) {
  const bool is_of_classes = source.starts_with(kClassesSource);
  if (!is_of_classes && !source.starts_with(kEdgesSource)) {
    return {};
  }
  std::string_view location =
      source.substr(is_of_classes ? kClassesSource.size() : kEdgesSource.size());
  if (is_of_classes) {
    const auto labels = labels_behind(location);
    if (!labels) {
      return fmt::format("'{}' names no two labels; write them as in classes:fashion-mnist:5,7",
                         shown(source));
    }
    location = labels->location;
    const int larger = std::max(labels->first, labels->second);
    if (location == kGarments && larger >= kGarmentLabels) {
      return fmt::format("'{}' names label {}, which {} has not; use labels from 0 to {}",
                         shown(source), larger, kGarments, kGarmentLabels - 1);
    }
  }
  return has_labelled_images(location)
             ? ""
             : fmt::format(
                   "'{}' names no images with labels; use fashion-mnist or idx:DIR behind the "
                   "colon",
                   shown(source));
}

}  // namespace gangway
