// SPDX-License-Identifier: MIT
// FD-LeNet: the Fréchet distance between generated and real images on the features of this
// project's own LeNet.
//
// It ranks generators trained on Fashion-MNIST and like data; it is not the FID, which is defined
// by the weights of an Inception network (Heusel et al., 2017), and its values cannot be compared
// with published FIDs.
#pragma once

#include <functional>

#include "gan/data/dataset.hpp"
#include "gan/evaluation/frechet.hpp"
#include "gan/evaluation/lenet.hpp"

namespace gangway::gan {

/// Images in batches: `count` of them from `first` on, [count, C, S, S] in [-1, 1].
using ImageSource = std::function<at::Tensor(std::int64_t first, std::int64_t count)>;

/// Examples first, first + 1, … of a data set.
[[nodiscard]] ImageSource images_of(const data::Dataset& dataset);
/// Examples of a data set at the places of a keyed permutation, so that a part of it is a fair
/// sample.
[[nodiscard]] ImageSource shuffled_images_of(const data::Dataset& dataset, std::uint64_t seed);

/// What sets of images are compared by: [N, C, S, S] in [-1, 1] -> [N, d], float32.
using FeatureFunction = std::function<at::Tensor(const at::Tensor& images)>;

/// Features of the first `count` images, looked at `batch` at a time: [count, d], float32.
/// @pre count >= 1
[[nodiscard]] at::Tensor image_features(const FeatureFunction& features, const ImageSource& images,
                                        std::int64_t count, std::int64_t batch);

/// The same of the LeNet, 500 images at a time: d = LeNet::kFeatures.
[[nodiscard]] at::Tensor lenet_features(LeNet& lenet, const ImageSource& images,
                                        std::int64_t count);

/// Their statistics. @pre count >= 2
[[nodiscard]] FeatureStatistics lenet_statistics(LeNet& lenet, const ImageSource& images,
                                                 std::int64_t count);

}  // namespace gangway::gan
