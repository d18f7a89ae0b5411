// SPDX-License-Identifier: MIT
// Images in IDX files, held in memory as bytes: Fashion-MNIST and folders in the layout of MNIST.
// Used by open_dataset.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "data/dataset.hpp"
#include "data/images/idx_file.hpp"
#include "job/models/model_spec.hpp"

namespace gangway::data {

/// Smaller images get a black border up to the next power of two (28 -> 32). Images of another size
/// than the model's resolution are then resampled (32 -> 64); larger or oblong ones are cropped
/// first.
class IdxDataset : public Dataset {
 public:
  /// @param labels  one for each image, or nothing
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
  int bordered_side_;  ///< side with the black border; 0: no border
  int num_classes_ = 0;
  std::string fingerprint_;
};

/// Reads the file itself, or from a folder `train-images-idx3-ubyte[.gz]` or its only file
/// *idx3-ubyte[.gz]. Reads the labels beside it if they exist (`images` and `idx3` replaced by
/// `labels` and `idx1`).
/// @throws ConfigError naming the file
[[nodiscard]] std::unique_ptr<Dataset> open_idx(const std::filesystem::path& location,
                                                const ModelSpec& model);

/// Folder of Debian's package dataset-fashion-mnist.
inline constexpr const char* kFashionMnistFolder = "/usr/share/datasets/fashion-mnist";

/// Calls open_idx on the package's folder. @throws ConfigError naming the package if it is missing
[[nodiscard]] std::unique_ptr<Dataset> open_fashion_mnist(const std::filesystem::path& folder,
                                                          const ModelSpec& model);

}  // namespace gangway::data
