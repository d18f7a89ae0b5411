// SPDX-License-Identifier: MIT
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "data/archives/open_archive.hpp"
#include "data/first_examples.hpp"
#include "data/idx_dataset.hpp"
#include "data/kept_datasets.hpp"
#include "data/sides/side_datasets.hpp"
#include "data/sides/sided_files.hpp"
#include "data/two_sides.hpp"
#include "job/data_source.hpp"

namespace gangway::data {
namespace {

constexpr std::string_view kPairs = "pairs:";
constexpr std::string_view kUnpaired = "unpaired:";
constexpr std::string_view kGarments = "fashion-mnist";

/// Opens images of a folder in MNIST's layout, or Fashion-MNIST.
std::unique_ptr<Dataset> garments(std::string_view location, const ModelSpec& model,
                                  SourcePart part) {
  const bool is_package = location == kGarments;
  if (part == SourcePart::kHeldOut) {
    return is_package
               ? open_idx(std::string(kFashionMnistFolder) + "/t10k-images-idx3-ubyte.gz", model)
               : nullptr;
  }
  return is_package
             ? open_fashion_mnist(kFashionMnistFolder, model)
             : open_idx(std::string(location.substr(std::string_view("idx:").size())), model);
}

std::unique_ptr<Dataset> open_edges(const DataSpec& spec, const ModelSpec& model, SourcePart part) {
  const std::string_view location = std::string_view(spec.source).substr(kEdgesSource.size());
  std::unique_ptr<Dataset> pictures = garments(location, model, part);
  return pictures ? std::make_unique<Outlines>(std::move(pictures)) : nullptr;
}

std::unique_ptr<Dataset> open_classes(const DataSpec& spec, const ModelSpec& model,
                                      SourcePart part) {
  const TwoLabels labels = two_labels(spec.source);
  const auto of_label = [&](int label) -> std::unique_ptr<Dataset> {
    std::unique_ptr<Dataset> pictures = garments(labels.location, model, part);
    return pictures ? limited(std::make_unique<OneClass>(std::move(pictures), label),
                              part == SourcePart::kTraining ? spec.limit : 0,
                              fmt::format("label {} of {}", label, labels.location))
                    : nullptr;
  };
  std::unique_ptr<Dataset> first = of_label(labels.first);
  return first ? std::make_unique<AllPairs>(std::move(first), of_label(labels.second)) : nullptr;
}

std::unique_ptr<Dataset> open_pairs(const DataSpec& spec, const ModelSpec& model, SourcePart part,
                                    ContentsCheck* check) {
  const std::string location = spec.source.substr(kPairs.size());
  const std::shared_ptr<const ImageArchive> archive = open_image_archive(location, check);
  const SidedFiles files = sided_files(archive->entries(), part, archive->shared_folder());
  if (!files.whole.empty() && !(files.first.empty() && files.second.empty())) {
    throw ConfigError(fmt::format(
        "{}: lies beside folders of two sides and in none of them; remove it, or put it "
        "into one",
        archive->display_name(files.whole.front())));
  }
  std::vector<FilePair> pairs = paired(files, *archive);
  for (const std::size_t file : files.whole) {
    pairs.push_back({file, file});
  }
  if (!pairs.empty()) {
    return std::make_unique<SideFiles>(archive, std::move(pairs), model);
  }
  if (part == SourcePart::kHeldOut) {
    return nullptr;
  }
  throw ConfigError(fmt::format(
      "{}: holds no pair of pictures; put pictures there that show both side by side, or two "
      "folders a and b with pictures of equal names",
      location));
}

std::unique_ptr<Dataset> open_unpaired(const DataSpec& spec, const ModelSpec& model,
                                       SourcePart part, ContentsCheck* check) {
  const std::string location = spec.source.substr(kUnpaired.size());
  const std::shared_ptr<const ImageArchive> archive = open_image_archive(location, check);
  const SidedFiles files = sided_files(archive->entries(), part, archive->shared_folder());
  if (!files.first.empty() && !files.second.empty()) {
    const auto side = [&](const std::vector<std::size_t>& of_side, std::string_view name) {
      return cached(limited(std::make_unique<SideFiles>(archive, of_side, model),
                            part == SourcePart::kTraining ? spec.limit : 0,
                            fmt::format("the {} side of {}", name, spec.source)),
                    spec, check);
    };
    std::unique_ptr<Dataset> first = side(files.first, "first");
    return std::make_unique<AllPairs>(std::move(first), side(files.second, "second"));
  }
  if (part == SourcePart::kHeldOut) {
    return nullptr;
  }
  throw ConfigError(fmt::format(
      "{}: holds no pictures of {} side; put them into two folders, trainA and trainB, or a and b",
      location, files.first.empty() ? "the first" : "the second"));
}

}  // namespace

std::unique_ptr<Dataset> open_two_sides(const DataSpec& spec, const ModelSpec& model,
                                        SourcePart part, ContentsCheck* check) {
  if (const std::string misspelt = misspelt_labels(spec.source); !misspelt.empty()) {
    throw ConfigError(fmt::format("data.source: {}", misspelt));
  }
  if (spec.source.starts_with(kUnpaired)) {
    return open_unpaired(spec, model, part, check);
  }
  if (spec.source.starts_with(kClassesSource)) {
    return open_classes(spec, model, part);
  }
  std::unique_ptr<Dataset> pairs = spec.source.starts_with(kPairs)
                                       ? open_pairs(spec, model, part, check)
                                       : open_edges(spec, model, part);
  if (pairs && part == SourcePart::kTraining) {
    pairs = limited(std::move(pairs), spec.limit, spec.source);
    if (spec.source.starts_with(kPairs)) {
      pairs = cached(std::move(pairs), spec, check);
    }
  }
  return pairs && spec.direction == PairDirection::kBToA
             ? std::make_unique<SwappedPairs>(std::move(pairs))
             : std::move(pairs);
}

}  // namespace gangway::data
