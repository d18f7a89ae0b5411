// SPDX-License-Identifier: MIT
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "gan/data/idx_dataset.hpp"
#include "gan/data/images/image_archive.hpp"
#include "gan/data/sides/side_datasets.hpp"
#include "gan/data/sides/sided_files.hpp"
#include "gan/data/two_sides.hpp"

namespace gangway::data {
namespace {

constexpr std::string_view kPairs = "pairs:";
constexpr std::string_view kUnpaired = "unpaired:";
constexpr std::string_view kEdges = "edges:";
constexpr std::string_view kClasses = "classes:";
constexpr std::string_view kGarments = "fashion-mnist";

/// Images of a folder in MNIST's manner, or of Fashion-MNIST.
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

void require_garments(std::string_view location, const std::string& source) {
  if (location != kGarments && !location.starts_with("idx:")) {
    throw ConfigError(fmt::format(
        "data.source: '{}' names no images with labels; use fashion-mnist or idx:DIR behind the "
        "colon",
        source));
  }
}

std::unique_ptr<Dataset> open_edges(const DataSpec& spec, const ModelSpec& model, SourcePart part) {
  const std::string_view location = std::string_view(spec.source).substr(kEdges.size());
  require_garments(location, spec.source);
  std::unique_ptr<Dataset> pictures = garments(location, model, part);
  return pictures ? std::make_unique<Outlines>(std::move(pictures)) : nullptr;
}

std::optional<int> number_in(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

/// "fashion-mnist:5,7" or "idx:DIR:5,7".
struct TwoLabels {
  std::string_view location;
  int first = 0;
  int second = 0;
};

TwoLabels two_labels(const std::string& source) {
  const std::string_view text = std::string_view(source).substr(kClasses.size());
  const std::size_t colon = text.rfind(':');
  const std::size_t comma = text.rfind(',');
  if (colon != std::string_view::npos && comma != std::string_view::npos && colon < comma) {
    const auto first = number_in(text.substr(colon + 1, comma - colon - 1));
    const auto second = number_in(text.substr(comma + 1));
    if (first && second) {
      return {text.substr(0, colon), *first, *second};
    }
  }
  throw ConfigError(fmt::format(
      "data.source: '{}' names no two labels; write them as in classes:fashion-mnist:5,7", source));
}

std::unique_ptr<Dataset> open_classes(const DataSpec& spec, const ModelSpec& model,
                                      SourcePart part) {
  const TwoLabels labels = two_labels(spec.source);
  require_garments(labels.location, spec.source);
  const auto of_label = [&](int label) -> std::unique_ptr<Dataset> {
    std::unique_ptr<Dataset> pictures = garments(labels.location, model, part);
    return pictures ? std::make_unique<OneClass>(std::move(pictures), label) : nullptr;
  };
  std::unique_ptr<Dataset> first = of_label(labels.first);
  return first ? std::make_unique<AllPairs>(std::move(first), of_label(labels.second)) : nullptr;
}

std::unique_ptr<Dataset> open_pairs(const DataSpec& spec, const ModelSpec& model, SourcePart part) {
  const std::string location = spec.source.substr(kPairs.size());
  const std::shared_ptr<const ImageArchive> archive = open_image_archive(location);
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
                                       SourcePart part) {
  const std::string location = spec.source.substr(kUnpaired.size());
  const std::shared_ptr<const ImageArchive> archive = open_image_archive(location);
  const SidedFiles files = sided_files(archive->entries(), part, archive->shared_folder());
  if (!files.first.empty() && !files.second.empty()) {
    return std::make_unique<AllPairs>(std::make_unique<SideFiles>(archive, files.first, model),
                                      std::make_unique<SideFiles>(archive, files.second, model));
  }
  if (part == SourcePart::kHeldOut) {
    return nullptr;
  }
  throw ConfigError(fmt::format(
      "{}: holds no pictures of {} side; put them into two folders, trainA and trainB, or a and b",
      location, files.first.empty() ? "the first" : "the second"));
}

}  // namespace

bool has_pairs(const DataSpec& spec) {
  return spec.source.starts_with(kPairs) || spec.source.starts_with(kEdges);
}

std::unique_ptr<Dataset> open_two_sides(const DataSpec& spec, const ModelSpec& model,
                                        SourcePart part) {
  if (spec.source.starts_with(kPairs)) {
    return open_pairs(spec, model, part);
  }
  if (spec.source.starts_with(kUnpaired)) {
    return open_unpaired(spec, model, part);
  }
  return spec.source.starts_with(kEdges) ? open_edges(spec, model, part)
                                         : open_classes(spec, model, part);
}

}  // namespace gangway::data
