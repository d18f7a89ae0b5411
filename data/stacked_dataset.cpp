// SPDX-License-Identifier: MIT
#include "data/stacked_dataset.hpp"

#include <utility>

#include "data/contents/fingerprint.hpp"
#include "gan/random.hpp"

namespace gangway::data {
namespace {

/// Raised when an index yields other images.
constexpr std::int64_t kStacking = 1;

}  // namespace

StackedDataset::StackedDataset(std::unique_ptr<Dataset> images)
    : images_(std::move(images)),
      fingerprint_(fingerprint_of("stacked", kStacking, images_->fingerprint())) {}

ExampleShape StackedDataset::shape() const {
  ExampleShape shape = images_->shape();
  shape.channels = kStackedChannels;
  return shape;
}

int StackedDataset::num_classes() const {
  const int classes = images_->num_classes();
  return classes * classes * classes;
}

std::array<std::int64_t, kStackedChannels> StackedDataset::parts_of(std::int64_t index) const {
  const KeyedRandom random(RandomKey{
      .step = index, .phase = kPhaseData, .draw = static_cast<std::int32_t>(RandomDraw::kStack)});
  std::array<std::int64_t, kStackedChannels> parts{};
  for (std::size_t channel = 0; channel < parts.size(); ++channel) {
    parts[channel] = random.below(channel, static_cast<std::uint32_t>(images_->size()));
  }
  return parts;
}

int StackedDataset::read(std::int64_t index, std::span<float> out) const {
  const std::size_t plane = images_->shape().elements();
  int label = 0;
  for (const std::int64_t part : parts_of(index)) {
    label = label * images_->num_classes() + images_->read(part, out.first(plane));
    out = out.subspan(plane);
  }
  return label;
}

int StackedDataset::label(std::int64_t index) const {
  int label = 0;
  for (const std::int64_t part : parts_of(index)) {
    label = label * images_->num_classes() + images_->label(part);
  }
  return label;
}

}  // namespace gangway::data
