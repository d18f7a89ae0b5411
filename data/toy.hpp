// SPDX-License-Identifier: MIT
// Two-dimensional mixtures for counting modes: the sources toy:ring8 and toy:grid25. Used by
// open_dataset and by `gangway evaluate`. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.hpp"

namespace gangway::data {

/// Equally likely isotropic Gaussians.
struct ToyMixture {
  std::vector<std::array<float, 2>> centres;
  float sigma = 0;  ///< standard deviation of each coordinate
};

/// Returns `ring8`: 8 centres on a circle of radius 2, sigma 0.02, all divided by 1.414; or
/// `grid25`: 5 x 5 centres 2 apart, sigma 0.05, all divided by 2.828 (toy data of Gulrajani et al.,
/// 2017, in their published code). Returns nothing for other names.
[[nodiscard]] std::optional<ToyMixture> toy_mixture(std::string_view name);

/// Points of a mixture. Point i is a pure function of (seed, i); its label is its centre.
class ToyDataset : public Dataset {
 public:
  /// Points in one data pass.
  static constexpr std::int64_t kSize = 1'000'000;

  ToyDataset(ToyMixture mixture, std::uint64_t seed);

  [[nodiscard]] std::int64_t size() const override { return kSize; }
  [[nodiscard]] ExampleShape shape() const override {
    return {.channels = 2, .height = 1, .width = 1};
  }
  [[nodiscard]] int num_classes() const override {
    return static_cast<int>(mixture_.centres.size());
  }
  [[nodiscard]] int read(std::int64_t index, std::span<float> out) const override;
  [[nodiscard]] std::string fingerprint() const override { return fingerprint_; }

 private:
  ToyMixture mixture_;
  std::uint64_t seed_;
  std::string fingerprint_;
};

}  // namespace gangway::data
