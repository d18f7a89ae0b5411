// SPDX-License-Identifier: MIT
// Pictures of three independent channels, for counting modes: the source stacked:fashion-mnist.
// Used by open_dataset and by `gangway evaluate`. Any thread.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "data/dataset.hpp"

namespace gangway::data {

inline constexpr int kStackedChannels = 3;

/// Draws an image for each channel from the picture's index only, not from the job's seed. So the
/// set is as fixed as files (Metz et al., 2017, section 3.3.1, with digits). With ten classes, the
/// label is 100 * the first channel's + 10 * the second's + the third's.
class StackedDataset : public Dataset {
 public:
  /// Number of pictures that PacGAN trains on (Lin et al., 2018, section 4.2).
  static constexpr std::int64_t kSize = 128'000;

  /// @param images  with one channel
  explicit StackedDataset(std::unique_ptr<Dataset> images);

  [[nodiscard]] std::int64_t size() const override { return kSize; }
  [[nodiscard]] ExampleShape shape() const override;
  [[nodiscard]] int num_classes() const override;
  [[nodiscard]] int read(std::int64_t index, std::span<float> out) const override;
  [[nodiscard]] int label(std::int64_t index) const override;
  [[nodiscard]] std::string fingerprint() const override { return fingerprint_; }

 private:
  /// Returns the indices of the three images shown.
  [[nodiscard]] std::array<std::int64_t, kStackedChannels> parts_of(std::int64_t index) const;
  std::unique_ptr<Dataset> images_;
  std::string fingerprint_;
};

}  // namespace gangway::data
