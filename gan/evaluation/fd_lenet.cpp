// SPDX-License-Identifier: MIT
#include "gan/evaluation/fd_lenet.hpp"

#include <algorithm>

#include "gan/data/permutation.hpp"

namespace gangway::gan {
namespace {

constexpr std::int64_t kBatch = 500;  // images at a time: some 40 MB of activations

template <typename IndexOf>
at::Tensor read_images(const data::Dataset& dataset, std::int64_t first, std::int64_t count,
                       const IndexOf& index_of) {
  const data::ExampleShape shape = dataset.shape();
  const at::Tensor images =
      at::empty({count, shape.channels, shape.height, shape.width}, at::kFloat);
  float* out = images.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < count; ++i) {
    dataset.read(index_of(first + i),
                 {out + static_cast<std::size_t>(i) * shape.elements(), shape.elements()});
  }
  return images;
}

}  // namespace

ImageSource images_of(const data::Dataset& dataset) {
  return [&dataset](std::int64_t first, std::int64_t count) {
    return read_images(dataset, first, count, [](std::int64_t i) { return i; });
  };
}

ImageSource shuffled_images_of(const data::Dataset& dataset, std::uint64_t seed) {
  const data::KeyedPermutation order(seed, 0, dataset.size());
  return [&dataset, order](std::int64_t first, std::int64_t count) {
    return read_images(dataset, first, count, order);
  };
}

at::Tensor lenet_features(LeNet& lenet, const ImageSource& images, std::int64_t count) {
  const at::NoGradGuard no_grad;
  const at::Tensor features = at::empty({count, LeNet::kFeatures}, at::kFloat);
  for (std::int64_t first = 0; first < count; first += kBatch) {
    const std::int64_t size = std::min(kBatch, count - first);
    features.slice(0, first, first + size).copy_(lenet.features(lenet_input(images(first, size))));
  }
  return features;
}

FeatureStatistics lenet_statistics(LeNet& lenet, const ImageSource& images, std::int64_t count) {
  return feature_statistics(lenet_features(lenet, images, count));
}

}  // namespace gangway::gan
