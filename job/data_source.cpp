// SPDX-License-Identifier: MIT
#include "job/data_source.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text/parse_number.hpp"
#include "base/text/suggestion.hpp"
#include "base/text/utf8.hpp"

namespace gangway {
namespace {

constexpr std::string_view kGarments = "fashion-mnist";
constexpr int kGarmentLabels = 10;
constexpr std::string_view kIdxImages = "idx:";
constexpr std::array<std::string_view, 4> kWords{kGarments, "stacked:fashion-mnist", "toy:ring8",
                                                 "toy:grid25"};
constexpr std::array<std::string_view, 7> kForms{
    kIdxImages, "images:", kPackSource, "pairs:", "unpaired:", kEdgesSource, kClassesSource};

std::optional<int> label_in(std::string_view text) {
  const auto label = parse_number<int>(text);
  return label && *label >= 0 ? label : std::nullopt;
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

bool is_known_source(std::string_view source) {
  return std::ranges::find(kWords, source) != kWords.end() ||
         std::ranges::any_of(kForms, [&](std::string_view form) {
           return source.starts_with(form) && source.size() > form.size();
         });
}

std::optional<std::string> nearest_source(const std::string& source) {
  if (auto near = nearest_word(source, {kWords.begin(), kWords.end()})) {
    return near;
  }
  const std::size_t colon = source.find(':');
  if (colon == std::string::npos) {  // a place alone
    return source.find('/') != std::string::npos || source.ends_with(".zip") ||
                   source.ends_with(".tar")
               ? std::optional("images:" + source)
               : std::nullopt;
  }
  const auto form = nearest_word(source.substr(0, colon + 1), {kForms.begin(), kForms.end()});
  return form && colon + 1 < source.size() ? std::optional(*form + source.substr(colon + 1))
                                           : std::nullopt;
}

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
