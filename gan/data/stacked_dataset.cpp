// SPDX-License-Identifier: MIT
#include "gan/data/stacked_dataset.hpp"

#include <utility>

#include "gan/data/fingerprint.hpp"
#include "gan/random.hpp"

namespace gangway::data {
namespace {

/// Raised when the same index comes to mean other images.
constexpr std::int64_t kStacking = 1;

}  // namespace

StackedDataset::StackedDataset(std::unique_ptr<Dataset> images) : images_(std::move(images)) {
  Fingerprint print;
  print.add("stacked");
  print.add(kStacking);
  print.add(images_->fingerprint());
  fingerprint_ = print.hex();
}

ExampleShape StackedDataset::shape() const {
  ExampleShape shape = images_->shape();
  shape.channels = kStackedChannels;
  return shape;
}

int StackedDataset::num_classes() const {
  const int classes = images_->num_classes();
  return classes * classes * classes;
}

int StackedDataset::read(std::int64_t index, std::span<float> out) const {
  const KeyedRandom random(RandomKey{
      .step = index, .phase = kPhaseData, .draw = static_cast<std::int32_t>(RandomDraw::kStack)});
  const std::size_t plane = images_->shape().elements();
  int label = 0;
  for (std::size_t channel = 0; channel < kStackedChannels; ++channel) {
    const std::uint32_t image = random.below(channel, static_cast<std::uint32_t>(images_->size()));
    label =
        label * images_->num_classes() + images_->read(image, out.subspan(channel * plane, plane));
  }
  return label;
}

}  // namespace gangway::data
