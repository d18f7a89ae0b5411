// SPDX-License-Identifier: MIT
// Which kinds of clothes a set of pictures shows, as FD-LeNet's classifier sees them: a kind that a
// generator has dropped has no share. Used by `gangway-model evaluate`. One thread at a time.
#pragma once

#include <array>

#include "gan/evaluation/lenet.hpp"

namespace gangway::gan {

using ClassShares = std::array<double, LeNet::kClasses>;  ///< they add up to 1

/// The labels of Fashion-MNIST, in their order (Xiao et al., 2017, table 2).
inline constexpr std::array<const char*, LeNet::kClasses> kClothes = {
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
    "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};

/// Share of each class that is the likeliest for an example.
/// @param features what LeNet::features returned, [N, LeNet::kFeatures]  @pre N > 0
[[nodiscard]] ClassShares class_shares(LeNet& lenet, const at::Tensor& features);

/// Share of the examples whose likeliest class is the one that was asked for.
/// @param labels  int64 [N]
[[nodiscard]] double right_class_share(LeNet& lenet, const at::Tensor& features,
                                       const at::Tensor& labels);

}  // namespace gangway::gan
