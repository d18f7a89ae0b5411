// SPDX-License-Identifier: MIT
// The feature network of FD-LeNet: a small classifier of Fashion-MNIST like LeNet-5 (LeCun et al.,
// 1998). Trained by `gangway-model train-features`, used by `gangway-model evaluate`. One thread at
// a time.
#pragma once

#include "gan/network.hpp"

namespace gangway::gan {

/// conv 5x5 (16) - max pool - conv 5x5 (32) - max pool - dense 128 - dense 10, ReLU between;
/// 215,370 parameters.
class LeNet {
 public:
  static constexpr std::int64_t kSide = 28;  ///< pixels
  static constexpr std::int64_t kFeatures = 128;
  static constexpr std::int64_t kClasses = 10;

  LeNet();

  /// @param images [N, 1, 28, 28], float32, values in [-1, 1]  @return the ReLU features [N, 128]
  [[nodiscard]] at::Tensor features(const at::Tensor& images);
  /// @param features  result of `features`  @return [N, 10]
  [[nodiscard]] at::Tensor logits(const at::Tensor& features);

  /// Returns the parameters, named as in the weights file: "features/0/weight", …
  [[nodiscard]] std::vector<Network::NamedParameter> parameters() { return network_.parameters(); }
  void initialise(std::uint64_t seed) { network_.initialise(seed); }

 private:
  Network network_;
};

/// Converts images of any job, real or generated, to LeNet's input. Averages channels, and reduces
/// k * 32 pixels to 32 by means over k x k. Cuts the border of 2 off 32 pixels, which undoes the
/// data set's padding.
/// @param images [N, C, S, S], S = 28 or a multiple of 32; contiguous or not  @return [N, 1, 28,
/// 28], contiguous
/// @throws ConfigError for another size
[[nodiscard]] at::Tensor lenet_input(const at::Tensor& images);

}  // namespace gangway::gan
