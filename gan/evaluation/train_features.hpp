// SPDX-License-Identifier: MIT
// How the weights in share/fd-lenet-fashion-mnist.safetensors came about (docs/evaluation.md).
// Compute thread only.
#pragma once

#include <cstdint>
#include <functional>

#include "gan/data/dataset.hpp"
#include "gan/evaluation/lenet.hpp"

namespace gangway::gan {

/// The recipe; another value is another feature network, hence another score.
struct FeatureRecipe {
  std::uint64_t seed = 0;
  int epochs = 1;
  int batch = 100;
  double lr = 1e-3;  ///< Adam, betas 0.9 and 0.999
};

/// Minimises the cross-entropy over `train` (28 pixels, labels 0-9) in a keyed order.
/// @param report called after every batch with images seen and its loss
/// @pre one compute thread: with two the sums have other bits
void train_features(LeNet& lenet, const data::Dataset& train, const FeatureRecipe& recipe,
                    const std::function<void(std::int64_t, double)>& report);

/// Share of `test` that is classified rightly, 0 to 1.
[[nodiscard]] double accuracy(LeNet& lenet, const data::Dataset& test);

}  // namespace gangway::gan
