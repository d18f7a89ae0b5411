// SPDX-License-Identifier: MIT
#include "data/open_dataset.hpp"

#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "data/archives/open_archive.hpp"
#include "data/first_examples.hpp"
#include "data/idx_dataset.hpp"
#include "data/image_dataset.hpp"
#include "data/kept_datasets.hpp"
#include "data/stacked_dataset.hpp"
#include "data/toy.hpp"
#include "data/two_sides.hpp"
#include "job/data_source.hpp"
#include "job/families/families.hpp"

namespace gangway::data {
namespace {

constexpr std::string_view kPictures = "images:";

/// Returns the text after `prefix`, if the text starts with it.
std::optional<std::string> after(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix) ? std::optional<std::string>(text.substr(prefix.size()))
                                  : std::nullopt;
}

ModelSpec gray(ModelSpec model) {
  model.channels = 1;
  return model;
}

std::unique_ptr<Dataset> open_source(const DataSpec& spec, const ModelSpec& model,
                                     std::uint64_t seed, ContentsCheck* check) {
  if (spec.has_two_sides()) {
    return open_two_sides(spec, model, SourcePart::kTraining, check);
  }
  if (spec.source == "fashion-mnist") {
    return open_fashion_mnist(kFashionMnistFolder, model);
  }
  if (spec.source == kStackedSource) {
    return std::make_unique<StackedDataset>(open_fashion_mnist(kFashionMnistFolder, gray(model)));
  }
  if (const auto location = after(spec.source, "idx:")) {
    return open_idx(*location, model);
  }
  if (const auto location = after(spec.source, kPictures)) {
    return std::make_unique<ImageDataset>(open_image_archive(*location, check), *location, model);
  }
  if (const auto location = after(spec.source, kPackSource)) {
    return open_pack(*location, model);
  }
  if (const auto name = after(spec.source, "toy:")) {
    if (auto mixture = toy_mixture(*name)) {
      return std::make_unique<ToyDataset>(std::move(*mixture), seed);
    }
  }
  throw ConfigError(fmt::format(
      "data.source: '{}' is unknown; use fashion-mnist, stacked:fashion-mnist, "
      "idx:DIR, images:DIR_OR_FILE, pack:DIR, toy:ring8 or toy:grid25, or with two "
      "sides pairs:DIR_OR_FILE, "
      "unpaired:DIR_OR_FILE, edges:fashion-mnist or classes:fashion-mnist:A,B, or a Python "
      "class, data.py:Faces",
      spec.source));
}

void require_fitting(const Dataset& dataset, const DataSpec& spec, const ModelSpec& model) {
  const bool wants_points = model.family->makes_points;
  const bool has_points = spec.source.starts_with("toy:");
  if (wants_points != has_points) {
    throw ConfigError(fmt::format(
        "data.source: {} holds {}, but model.family wants {}; {}", spec.source,
        has_points ? "points" : "images", wants_points ? "points" : "images",
        wants_points ? "use toy:ring8 or toy:grid25, or another family"
                     : "use family " + family_names(" or ", &ModelFamily::makes_points)));
  }
  // Sets of two sides are opened with the model's channels.
  if (model.family->makes_images() && !spec.has_two_sides() &&
      dataset.shape().channels != model.channels) {
    throw ConfigError(fmt::format(
        "data.source: {} has {} channels, but model.channels is {}; set it to {}", spec.source,
        dataset.shape().channels, model.channels, dataset.shape().channels));
  }
  if (model.classes > 0 && dataset.num_classes() == 0) {
    throw ConfigError(fmt::format(
        "data.source: {} has no labels, but model.classes is {}; set it to 0 or add labels",
        spec.source, model.classes));
  }
  if (model.classes > 0 && dataset.num_classes() > model.classes) {
    throw ConfigError(
        fmt::format("data.source: {} has {} classes, but model.classes is {}; set it to {}",
                    spec.source, dataset.num_classes(), model.classes, dataset.num_classes()));
  }
}

}  // namespace

std::unique_ptr<Dataset> open_dataset(const DataSpec& spec, const ModelSpec& model,
                                      std::uint64_t seed, ContentsCheck* check) {
  if (spec.module.is_python()) {
    return open_python_data(spec, model, seed, check);
  }
  std::unique_ptr<Dataset> dataset = open_source(spec, model, seed, check);
  require_fitting(*dataset, spec, model);
  // Sets of two sides are limited and cached side by side, where they are opened.
  if (spec.has_two_sides()) {
    return dataset;
  }
  dataset = limited(std::move(dataset), spec.limit, spec.source);
  return spec.source.starts_with(kPictures) ? cached(std::move(dataset), spec, check)
                                            : std::move(dataset);
}

}  // namespace gangway::data
