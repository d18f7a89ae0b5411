// SPDX-License-Identifier: MIT
// Trains the weights in share/fd-lenet-fashion-mnist.safetensors (docs/evaluation.md). Compute
// thread only.
#pragma once

#include <cstdint>
#include <functional>

#include "data/dataset.hpp"
#include "gan/evaluation/lenet.hpp"

namespace gangway::gan {

/// Settings of the training. Other values give another feature network, hence other scores.
struct FeatureRecipe {
  std::uint64_t seed = 0;
  int epochs = 1;
  int batch = 100;
  double lr = 1e-3;  ///< Adam, betas 0.9 and 0.999
};

/// Minimises the cross-entropy over `train` (28 pixels, labels 0-9) in a keyed order.
/// @param report  called after every batch with images seen and the loss
/// @pre one compute thread: with two, sums have other bits
void train_features(LeNet& lenet, const data::Dataset& train, const FeatureRecipe& recipe,
                    const std::function<void(std::int64_t, double)>& report);

/// Returns the share of `test` that is classified correctly, 0 to 1.
[[nodiscard]] double accuracy(LeNet& lenet, const data::Dataset& test);

}  // namespace gangway::gan
