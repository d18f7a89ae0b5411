// SPDX-License-Identifier: MIT
#include "data/idx_dataset.hpp"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "data/contents/fingerprint.hpp"
#include "data/images/pixels.hpp"
#include "data/images/resample.hpp"

namespace gangway::data {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLargestSide = 16384;
/// Part of the fingerprint of resampled sets; raised when equal files yield other pixels. 2:
/// bicubic.
constexpr std::int64_t kResampling = 2;

/// Replaces the last occurrence only, so that a folder of the same name stays unchanged.
std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.rfind(from);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

bool is_image_file_name(const std::string& name) {
  const std::string_view plain =
      name.ends_with(".gz") ? std::string_view(name).substr(0, name.size() - 3) : name;
  return plain.ends_with("idx3-ubyte");
}

std::optional<fs::path> plain_or_compressed(const fs::path& path) {
  for (const fs::path& candidate : {path, fs::path(path.string() + ".gz")}) {
    std::error_code ignored;
    if (fs::exists(candidate, ignored)) {
      return candidate;
    }
  }
  return std::nullopt;
}

fs::path find_images(const fs::path& folder) {
  if (const auto usual = plain_or_compressed(folder / "train-images-idx3-ubyte")) {
    return *usual;
  }
  std::vector<fs::path> found;
  std::error_code failure;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    if (is_image_file_name(entry->path().filename().string())) {
      found.push_back(entry->path());
    }
  }
  if (failure) {
    throw ConfigError(fmt::format("{}: cannot be listed ({}); check the path in data.source",
                                  folder.string(), failure.message()));
  }
  if (found.size() != 1) {
    throw ConfigError(fmt::format(
        "{}: holds {} files named *idx3-ubyte[.gz]; put one train-images-idx3-ubyte[.gz] there or "
        "name the file in "
        "data.source",
        folder.string(), found.empty() ? std::string("no") : std::to_string(found.size())));
  }
  return found.front();
}

std::optional<fs::path> find_labels(const fs::path& images) {
  std::string name = images.filename().string();
  if (name.ends_with(".gz")) {
    name.resize(name.size() - 3);
  }
  const std::string labels = replaced(replaced(name, "images", "labels"), "idx3", "idx1");
  return labels == name ? std::nullopt : plain_or_compressed(images.parent_path() / labels);
}

/// Returns the side of the square with a black border, or 0 without a border.
int bordered_side(const IdxArray& images, int resolution) {
  const std::int64_t side = images.sizes[1];
  const auto bordered = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(side)));
  return side == images.sizes[2] && side != resolution && bordered <= resolution ? bordered : 0;
}

}  // namespace

IdxDataset::IdxDataset(IdxArray images, std::optional<IdxArray> labels, const ModelSpec& model)
    : images_(std::move(images)),
      labels_(std::move(labels)),
      shape_{.channels = model.channels, .height = model.resolution, .width = model.resolution},
      bordered_side_(bordered_side(images_, model.resolution)) {
  Fingerprint print;
  for (const std::int64_t size : images_.sizes) {
    print.add(size);
  }
  print.add(std::span<const std::uint8_t>(images_.values));
  if (labels_) {
    num_classes_ =
        1 + static_cast<int>(*std::max_element(labels_->values.begin(), labels_->values.end()));
    print.add(std::span<const std::uint8_t>(labels_->values));
  }
  const std::int64_t square =
      bordered_side_ > 0 ? bordered_side_ : std::min(images_.sizes[1], images_.sizes[2]);
  if (square != model.resolution) {
    print.add(kResampling);
  }
  fingerprint_ = print.hex();
}

int IdxDataset::read(std::int64_t index, std::span<float> out) const {
  const auto at = static_cast<std::size_t>(index);
  const auto bytes = static_cast<std::size_t>(images_.sizes[1] * images_.sizes[2]);
  const std::uint8_t* first = images_.values.data() + at * bytes;
  Pixels pixels{.height = static_cast<int>(images_.sizes[1]),
                .width = static_cast<int>(images_.sizes[2]),
                .channels = 1,
                .values = {first, first + bytes}};
  if (bordered_side_ > 0) {
    pixels = pad_square(pixels, bordered_side_);
  }
  to_floats(fit_square(pixels, shape_.height), shape_.channels, out);
  return label(index);
}

std::unique_ptr<Dataset> open_idx(const fs::path& location, const ModelSpec& model) {
  std::error_code ignored;
  if (!fs::exists(location, ignored)) {
    throw ConfigError(
        fmt::format("{}: does not exist; check the path in data.source", location.string()));
  }
  const fs::path images_path =
      fs::is_directory(location, ignored) ? find_images(location) : location;
  IdxArray images = read_idx(images_path, 3);
  if (std::max(images.sizes[1], images.sizes[2]) > kLargestSide) {
    throw ConfigError(fmt::format("{}: images of {} x {} pixels; at most {} a side can be read",
                                  images_path.string(), images.sizes[2], images.sizes[1],
                                  kLargestSide));
  }
  std::optional<IdxArray> labels;
  if (const auto labels_path = find_labels(images_path)) {
    labels = read_idx(*labels_path, 1);
    if (labels->sizes[0] != images.sizes[0]) {
      throw ConfigError(fmt::format("{}: {} labels for the {} images of {}; fetch both files again",
                                    labels_path->string(), labels->sizes[0], images.sizes[0],
                                    images_path.string()));
    }
  }
  return std::make_unique<IdxDataset>(std::move(images), std::move(labels), model);
}

std::unique_ptr<Dataset> open_fashion_mnist(const fs::path& folder, const ModelSpec& model) {
  if (!plain_or_compressed(folder / "train-images-idx3-ubyte")) {
    throw ConfigError(
        fmt::format("{}/train-images-idx3-ubyte.gz: not found; install the Debian package "
                    "dataset-fashion-mnist (apt-get install "
                    "dataset-fashion-mnist) or run ./launch/setup",
                    folder.string()));
  }
  return open_idx(folder, model);
}

}  // namespace gangway::data
