// SPDX-License-Identifier: MIT
#include "gan/label_blocks.hpp"

namespace gangway::gan {
namespace {

// A product with one-hot rows instead of an embedding look-up: its gradient has one order of sums
// on every device.
at::Tensor one_hot_rows(const at::Tensor& labels, std::int64_t classes) {
  return at::one_hot(labels, classes).to(at::kFloat);
}

}  // namespace

NamedTensors LabelConcatenation::forward(const NamedTensors& in, const ForwardContext&) {
  return in.with("noise", at::cat({in.at("noise"), one_hot_rows(in.at("labels"), classes_)}, 1));
}

ProjectionHead::ProjectionHead(std::int64_t classes, std::int64_t features, std::int64_t pixels)
    : classes_(classes), features_(features), pixels_(pixels) {
  weight_ = &add_parameter("weight", {1, features * pixels}, Initial::kNormal);
  embedding_ = &add_parameter("embedding", {classes, features}, Initial::kNormal);
}

NamedTensors ProjectionHead::forward(const NamedTensors& in, const ForwardContext&) {
  const at::Tensor features = in.at("features").reshape({-1, features_, pixels_});
  const at::Tensor unconditional = at::linear(features.flatten(1), weight_->tensor);
  const at::Tensor embedded = one_hot_rows(in.at("labels"), classes_).matmul(embedding_->tensor);
  return in.with("features", unconditional + (embedded * features.mean(2)).sum(1, true));
}

}  // namespace gangway::gan
