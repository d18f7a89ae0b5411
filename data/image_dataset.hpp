// SPDX-License-Identifier: MIT
// Images of any size in a folder, a ZIP or tars. They are decoded at each read; memory holds only
// their names. Used by open_dataset.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/archives/image_archive.hpp"
#include "data/dataset.hpp"
#include "job/models/model_spec.hpp"

namespace gangway::data {

/// Takes labels from data/image_labels.hpp. Crops images to their central square and resamples
/// them, so sizes may differ (docs/pictures.md).
class ImageDataset : public Dataset {
 public:
  /// @throws ConfigError: no image, an empty file, ambiguous labels
  ImageDataset(std::unique_ptr<ImageArchive> archive, const std::string& location,
               const ModelSpec& model);

  [[nodiscard]] std::int64_t size() const override {
    return static_cast<std::int64_t>(archive_->entries().size());
  }
  [[nodiscard]] ExampleShape shape() const override { return shape_; }
  [[nodiscard]] int num_classes() const override { return num_classes_; }
  [[nodiscard]] int read(std::int64_t index, std::span<float> out) const override;
  void expect(std::int64_t index) const override {
    archive_->expect(static_cast<std::size_t>(index));
  }
  [[nodiscard]] int label(std::int64_t index) const override {
    return labels_.empty() ? 0 : labels_[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] DecodeTimes decode_times() const override { return ledger_.times(); }
  [[nodiscard]] std::string fingerprint() const override;
  [[nodiscard]] std::string earlier_fingerprint() const override;

 private:
  std::unique_ptr<ImageArchive> archive_;
  ExampleShape shape_;
  std::vector<int> labels_;  ///< one for each entry; empty without labels
  int num_classes_ = 0;
  mutable DecodeLedger ledger_;
};

}  // namespace gangway::data
