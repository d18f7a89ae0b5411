// SPDX-License-Identifier: MIT
// Counts the kinds of clothes in a set of pictures by FD-LeNet's classifier; a kind that a
// generator dropped has share 0. Used by `gangway-model evaluate`. One thread at a time.
#pragma once

#include <array>

#include "gan/evaluation/lenet.hpp"

namespace gangway::gan {

using ClassShares = std::array<double, LeNet::kClasses>;  ///< they add up to 1

/// Labels of Fashion-MNIST, in order (Xiao et al., 2017, table 2).
inline constexpr std::array<const char*, LeNet::kClasses> kClothes = {
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
    "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};

/// Returns each class's share of examples for which it is the likeliest.
/// @param features  result of LeNet::features, [N, LeNet::kFeatures]  @pre N > 0
[[nodiscard]] ClassShares class_shares(LeNet& lenet, const at::Tensor& features);

/// Returns the share of examples whose likeliest class is the requested label.
/// @param labels  int64 [N]
[[nodiscard]] double right_class_share(LeNet& lenet, const at::Tensor& features,
                                       const at::Tensor& labels);

}  // namespace gangway::gan
