// SPDX-License-Identifier: MIT
// Features for FD-LeNet: the Fréchet distance between generated and real images on the features of
// this project's own LeNet.
//
// It ranks generators trained on Fashion-MNIST and like data; it is not the FID, which is defined
// by the weights of an Inception network (Heusel et al., 2017), and its values cannot be compared
// with published FIDs.
#pragma once

#include <functional>

#include "data/dataset.hpp"
#include "gan/evaluation/lenet.hpp"

namespace gangway::gan {

/// Returns images first … first + count - 1: [count, C, S, S] in [-1, 1].
using ImageSource = std::function<at::Tensor(std::int64_t first, std::int64_t count)>;

/// Returns a source of a data set's examples, in order.
[[nodiscard]] ImageSource images_of(const data::Dataset& dataset);
/// Returns a source of a data set's examples in a keyed permutation, so that a part is a fair
/// sample.
[[nodiscard]] ImageSource shuffled_images_of(const data::Dataset& dataset, std::uint64_t seed);

/// Computes the features for comparison: [N, C, S, S] in [-1, 1] -> [N, d], float32.
using FeatureFunction = std::function<at::Tensor(const at::Tensor& images)>;

/// Returns features of the first `count` images, in batches of `batch`: [count, d], float32.
/// @pre count >= 1
[[nodiscard]] at::Tensor image_features(const FeatureFunction& features, const ImageSource& images,
                                        std::int64_t count, std::int64_t batch);

/// Returns the LeNet's features, in batches of 500 images: d = LeNet::kFeatures.
[[nodiscard]] at::Tensor lenet_features(LeNet& lenet, const ImageSource& images,
                                        std::int64_t count);

}  // namespace gangway::gan
