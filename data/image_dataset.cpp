// SPDX-License-Identifier: MIT
#include "data/image_dataset.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "data/contents/fingerprint.hpp"
#include "data/image_labels.hpp"
#include "data/images/pixels.hpp"
#include "data/times/timed_pictures.hpp"

namespace gangway::data {
namespace {

/// Number of files, evenly spread, whose first bytes were in the fingerprint until December 2026.
constexpr std::size_t kFilesInFingerprint = 64;
constexpr std::size_t kBytesInFingerprint = 4096;
/// Part of the fingerprint; raised when equal files yield other pixels. 2: bicubic.
constexpr std::int64_t kReading = 2;

}  // namespace

ImageDataset::ImageDataset(std::unique_ptr<ImageArchive> archive, const std::string& location,
                           const ModelSpec& model)
    : archive_(std::move(archive)),
      shape_{.channels = model.channels, .height = model.resolution, .width = model.resolution} {
  const auto& entries = archive_->entries();
  if (entries.empty()) {
    throw ConfigError(fmt::format(
        "{}: holds no .png, .jpg, .jpeg or .webp file; check the path in data.source", location));
  }
  const auto empty = std::find_if(entries.begin(), entries.end(),
                                  [](const auto& entry) { return entry.bytes == 0; });
  if (empty != entries.end()) {
    throw ConfigError(
        fmt::format("{}: empty file; replace or remove it",
                    archive_->display_name(static_cast<std::size_t>(empty - entries.begin()))));
  }
  ImageLabels labels = labels_of(*archive_, location);
  num_classes_ = labels.num_classes;
  labels_ = std::move(labels.of_images);
  std::vector<float> first(shape_.elements());
  (void)read(
      0,
      first);  // fails before the training starts if files under the right names are no pictures
}

std::string ImageDataset::fingerprint() const {
  Fingerprint print;
  print.add(kReading);
  for (std::size_t i = 0; i < archive_->entries().size(); ++i) {
    const ArchiveEntry& entry = archive_->entries()[i];
    print.add(entry.name);
    print.add(entry.bytes);
    print.add(static_cast<std::int64_t>(archive_->content_crc(i)));
    if (entry.label) {
      print.add(std::int64_t{*entry.label});
    }
  }
  if (const std::optional<LabelFile>& file = archive_->label_file()) {
    print.add(file->text);
  }
  return print.hex();
}

std::string ImageDataset::earlier_fingerprint() const {
  const auto& entries = archive_->entries();
  Fingerprint print;
  print.add(kReading);
  for (const ArchiveEntry& entry : entries) {
    print.add(entry.name);
    print.add(entry.bytes);
  }
  if (const std::optional<LabelFile>& file = archive_->label_file()) {
    print.add(file->text);
  }
  const std::size_t files = std::min(entries.size(), kFilesInFingerprint);
  for (std::size_t i = 0; i < files; ++i) {
    const std::vector<std::uint8_t> bytes = archive_->read(i * entries.size() / files);
    print.add(std::span(bytes).first(std::min(bytes.size(), kBytesInFingerprint)));
  }
  return print.hex();
}

int ImageDataset::read(std::int64_t index, std::span<float> out) const {
  const auto at = static_cast<std::size_t>(index);
  const DecodeOptions options{.wanted_side = shape_.height};
  const Pixels image = decode_picture(*archive_, at, options, ledger_);
  to_floats(fit_picture(image, shape_.height, ledger_), shape_.channels, out);
  return label(index);
}

}  // namespace gangway::data
