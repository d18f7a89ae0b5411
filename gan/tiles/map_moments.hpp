// SPDX-License-Identifier: MIT
// Mean and variance of maps that come as strips of rows. Used by gan/tiles/tiled_network.cpp.
// Compute thread.
#pragma once

#include <cstdint>

#include "gan/torch.hpp"

namespace gangway::gan {

/// Sums a map's values and squares in float64, in the order of its pixels on any number of threads.
class MapMoments {
 public:
  /// @param maps  examples times channels
  explicit MapMoments(std::int64_t maps)
      : sums_(at::zeros(maps, at::kDouble)), squares_(at::zeros(maps, at::kDouble)) {}

  /// @param strip  the next rows, [N, C, rows, W], float32, on any device
  void add(const at::Tensor& strip);

  /// Returns the factor and the offset that give each map mean 0 and variance 1, then `gain` and
  /// `shift` [C]: two tensors [N, C, 1, 1], float32, on their device.
  /// @param epsilon  added to variances
  struct Scale {
    at::Tensor factor;
    at::Tensor offset;
  };
  [[nodiscard]] Scale scale(const at::Tensor& gain, const at::Tensor& shift, double epsilon) const;

 private:
  at::Tensor sums_;  // on the CPU
  at::Tensor squares_;
  std::int64_t pixels_ = 0;
};

}  // namespace gangway::gan
