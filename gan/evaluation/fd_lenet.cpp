// SPDX-License-Identifier: MIT
#include "gan/evaluation/fd_lenet.hpp"

#include <algorithm>
#include <vector>

#include "data/permutation.hpp"

namespace gangway::gan {
namespace {

constexpr std::int64_t kBatch = 500;  // images at a time: some 40 MB of activations

template <typename IndexOf>
at::Tensor read_images(const data::Dataset& dataset, std::int64_t first, std::int64_t count,
                       const IndexOf& index_of) {
  const data::ExampleShape shape = dataset.shape();
  const at::Tensor images =
      at::empty({count, shape.channels, shape.height, shape.width}, at::kFloat);
  auto* out = images.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < count; ++i) {
    (void)dataset.read(index_of(first + i),
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

at::Tensor image_features(const FeatureFunction& features, const ImageSource& images,
                          std::int64_t count, std::int64_t batch) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> parts;
  for (std::int64_t first = 0; first < count; first += batch) {
    parts.push_back(features(images(first, std::min(batch, count - first))));
  }
  return at::cat(parts);
}

at::Tensor lenet_features(LeNet& lenet, const ImageSource& images, std::int64_t count) {
  return image_features(
      [&lenet](const at::Tensor& batch) { return lenet.features(lenet_input(batch)); }, images,
      count, kBatch);
}

}  // namespace gangway::gan
