// SPDX-License-Identifier: MIT
#include "data/sides/side_datasets.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "data/contents/fingerprint.hpp"
#include "data/times/timed_pictures.hpp"

namespace gangway::data {
namespace {

/// Raised when equal files yield other examples.
constexpr std::int64_t kSidesReading = 1;

/// Smallest step of an outline, in [-1, 1]; Sobel's gradient is four times the step.
constexpr float kOutlineStep = 0.5F;
constexpr float kSobelGain = 4.0F;
constexpr float kOutlineThreshold = kOutlineStep * kSobelGain * kOutlineStep * kSobelGain;

ExampleShape doubled(ExampleShape shape) {
  shape.channels *= 2;
  return shape;
}

std::vector<FilePair> alone(const std::vector<std::size_t>& files) {
  std::vector<FilePair> pairs;
  for (const std::size_t file : files) {
    pairs.push_back({file, file});
  }
  return pairs;
}

/// Returns columns [begin, end) of a picture.
Pixels columns_of(const Pixels& picture, int begin, int end) {
  Pixels part = make_pixels(picture.height, end - begin, picture.channels);
  for (int row = 0; row < picture.height; ++row) {
    std::copy_n(picture.values.begin() + static_cast<std::ptrdiff_t>(picture.offset(row, begin)),
                (end - begin) * picture.channels,
                part.values.begin() + static_cast<std::ptrdiff_t>(part.offset(row, 0)));
  }
  return part;
}

/// Returns whether a place of a plane is an outline; edge pixels repeat beyond the border.
bool is_outline(std::span<const float> plane, int row, int column, const ExampleShape& shape) {
  const auto at = [&](int down, int right) {
    const auto r = static_cast<std::size_t>(std::clamp(row + down, 0, shape.height - 1));
    const auto c = static_cast<std::size_t>(std::clamp(column + right, 0, shape.width - 1));
    return plane[r * static_cast<std::size_t>(shape.width) + c];
  };
  const float across =
      (at(-1, 1) + 2.0F * at(0, 1) + at(1, 1)) - (at(-1, -1) + 2.0F * at(0, -1) + at(1, -1));
  const float down =
      (at(1, -1) + 2.0F * at(1, 0) + at(1, 1)) - (at(-1, -1) + 2.0F * at(-1, 0) + at(-1, 1));
  return across * across + down * down > kOutlineThreshold;
}

}  // namespace

SideFiles::SideFiles(std::shared_ptr<const ImageArchive> archive,
                     const std::vector<std::size_t>& files, const ModelSpec& model)
    : archive_(std::move(archive)),
      pairs_(alone(files)),
      shape_{.channels = model.channels, .height = model.resolution, .width = model.resolution},
      channels_(model.channels) {}

SideFiles::SideFiles(std::shared_ptr<const ImageArchive> archive, std::vector<FilePair> pairs,
                     const ModelSpec& model)
    : archive_(std::move(archive)),
      pairs_(std::move(pairs)),
      shape_{.channels = 2 * model.channels, .height = model.resolution, .width = model.resolution},
      channels_(model.channels) {}

Pixels SideFiles::decoded(std::size_t file) const {
  return decode_picture(*archive_, file, {.wanted_side = shape_.height}, ledger_);
}

void SideFiles::write(const Pixels& picture, std::span<float> out) const {
  to_floats(fit_picture(picture, shape_.height, ledger_), channels_, out);
}

int SideFiles::read(std::int64_t index, std::span<float> out) const {
  const FilePair& pair = pairs_[static_cast<std::size_t>(index)];
  const std::size_t half = out.size() / 2;
  const Pixels picture = decoded(pair.first);
  if (shape_.channels == channels_) {
    write(picture, out);
  } else if (pair.first != pair.second) {
    write(picture, out.first(half));
    write(decoded(pair.second), out.subspan(half));
  } else {
    if (picture.width <= picture.height) {
      throw ConfigError(fmt::format(
          "{}: {}x{} pixels are not two pictures side by side; make it wider than it is high, or "
          "put the two sides into folders a and b",
          archive_->display_name(pair.first), picture.width, picture.height));
    }
    write(columns_of(picture, 0, picture.width / 2), out.first(half));
    write(columns_of(picture, picture.width / 2, picture.width), out.subspan(half));
  }
  return 0;
}

void SideFiles::expect(std::int64_t index) const {
  const FilePair& pair = pairs_[static_cast<std::size_t>(index)];
  archive_->expect(pair.first);
  if (pair.second != pair.first) {
    archive_->expect(pair.second);
  }
}

std::string SideFiles::fingerprint() const {
  Fingerprint print;
  print.add(kSidesReading);
  print.add(std::int64_t{shape_.channels / channels_});
  for (const FilePair& pair : pairs_) {
    for (const std::size_t file : {pair.first, pair.second}) {
      print.add(archive_->entries()[file].name);
      print.add(archive_->entries()[file].bytes);
      print.add(static_cast<std::int64_t>(archive_->content_crc(file)));
    }
  }
  return print.hex();
}

std::string SideFiles::earlier_fingerprint() const {
  constexpr std::size_t kBytesLookedAt = 4096;
  constexpr std::size_t kFilesLookedAt = 64;
  Fingerprint print;
  print.add(kSidesReading);
  print.add(std::int64_t{shape_.channels / channels_});
  for (const FilePair& pair : pairs_) {
    for (const std::size_t file : {pair.first, pair.second}) {
      print.add(archive_->entries()[file].name);
      print.add(archive_->entries()[file].bytes);
    }
  }
  const std::size_t files = std::min(pairs_.size(), kFilesLookedAt);
  for (std::size_t i = 0; i < files; ++i) {
    const auto bytes = archive_->read(pairs_[i * pairs_.size() / files].second);
    print.add(std::span<const std::uint8_t>(bytes).first(std::min(bytes.size(), kBytesLookedAt)));
  }
  return print.hex();
}

ExampleShape AllPairs::shape() const { return doubled(first_->shape()); }

int AllPairs::read(std::int64_t index, std::span<float> out) const {
  (void)first_->read(index % first_->size(), out.first(out.size() / 2));
  (void)second_->read(index / first_->size(), out.subspan(out.size() / 2));
  return 0;
}

std::string AllPairs::fingerprint() const {
  return fingerprint_of("all pairs", first_->fingerprint(), second_->fingerprint());
}

std::string AllPairs::earlier_fingerprint() const {
  return fingerprint_of("all pairs", first_->earlier_fingerprint(), second_->earlier_fingerprint());
}

ExampleShape Outlines::shape() const { return doubled(pictures_->shape()); }

int Outlines::read(std::int64_t index, std::span<float> out) const {
  const ExampleShape shape = pictures_->shape();
  const std::span<float> picture = out.subspan(shape.elements());
  const int label = pictures_->read(index, picture);
  const std::size_t plane = shape.elements() / static_cast<std::size_t>(shape.channels);
  for (int channel = 0; channel < shape.channels; ++channel) {
    const std::size_t begin = static_cast<std::size_t>(channel) * plane;
    for (int row = 0; row < shape.height; ++row) {
      for (int column = 0; column < shape.width; ++column) {
        out[begin + static_cast<std::size_t>(row * shape.width + column)] =
            is_outline(picture.subspan(begin, plane), row, column, shape) ? 1.0F : -1.0F;
      }
    }
  }
  return label;
}

std::string Outlines::fingerprint() const {
  return fingerprint_of("outlines", kSidesReading, pictures_->fingerprint());
}

int SwappedPairs::read(std::int64_t index, std::span<float> out) const {
  const int label = all().read(index, out);
  std::ranges::swap_ranges(out.first(out.size() / 2), out.subspan(out.size() / 2));
  return label;
}

std::string SwappedPairs::marked(const std::string& of_all) const {
  return fingerprint_of("the other way", of_all);
}

OneClass::OneClass(std::unique_ptr<Dataset> pictures, int label)
    : pictures_(std::move(pictures)), label_(label) {
  std::vector<float> ignored(pictures_->shape().elements());
  for (std::int64_t i = 0; i < pictures_->size(); ++i) {
    if (pictures_->read(i, ignored) == label_) {
      places_.push_back(i);
    }
  }
  if (places_.empty()) {
    throw ConfigError(
        fmt::format("data.source: there is no picture of label {}; use labels from 0 to {}", label,
                    std::max(0, pictures_->num_classes() - 1)));
  }
}

int OneClass::read(std::int64_t index, std::span<float> out) const {
  return pictures_->read(places_[static_cast<std::size_t>(index)], out);
}

std::string OneClass::fingerprint() const {
  return fingerprint_of("one class", std::int64_t{label_}, pictures_->fingerprint());
}

}  // namespace gangway::data
