// SPDX-License-Identifier: MIT
// Images in IDX files, held in memory as bytes: Fashion-MNIST and any folder in MNIST's manner.
// Used by open_dataset.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "gan/data/dataset.hpp"
#include "gan/data/images/idx_file.hpp"
#include "job/models/model_spec.hpp"

namespace gangway::data {

/// An image smaller than the model's resolution gets a black border up to the next power of two (28
/// -> 32); if that is still not the resolution, it is resampled (32 -> 64). A larger or oblong one
/// is cropped and resampled.
class IdxDataset : public Dataset {
 public:
  /// @param labels one an image, or nothing.
  IdxDataset(IdxArray images, std::optional<IdxArray> labels, const ModelSpec& model);

  [[nodiscard]] std::int64_t size() const override { return images_.sizes[0]; }
  [[nodiscard]] ExampleShape shape() const override { return shape_; }
  [[nodiscard]] int num_classes() const override { return num_classes_; }
  [[nodiscard]] int read(std::int64_t index, std::span<float> out) const override;
  [[nodiscard]] int label(std::int64_t index) const override {
    return labels_ ? labels_->values[static_cast<std::size_t>(index)] : 0;
  }
  [[nodiscard]] std::string fingerprint() const override { return fingerprint_; }

 private:
  IdxArray images_;
  std::optional<IdxArray> labels_;
  ExampleShape shape_;
  int bordered_side_;  ///< with the black border; 0 without
  int num_classes_ = 0;
  std::string fingerprint_;
};

/// Reads `train-images-idx3-ubyte[.gz]` of a folder, or the only file of it that is named
/// *idx3-ubyte[.gz], or the file itself; and the labels beside it (`images` and `idx3` replaced by
/// `labels` and `idx1`), if they exist.
/// @throws ConfigError naming the file.
[[nodiscard]] std::unique_ptr<Dataset> open_idx(const std::filesystem::path& location,
                                                const ModelSpec& model);

/// Where Debian's package dataset-fashion-mnist puts its files.
inline constexpr const char* kFashionMnistFolder = "/usr/share/datasets/fashion-mnist";

/// open_idx on the package's folder. @throws ConfigError that names the package if it is not there.
[[nodiscard]] std::unique_ptr<Dataset> open_fashion_mnist(const std::filesystem::path& folder,
                                                          const ModelSpec& model);

}  // namespace gangway::data
