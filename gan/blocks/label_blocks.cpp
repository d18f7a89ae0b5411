// SPDX-License-Identifier: MIT
#include "gan/blocks/label_blocks.hpp"

#include "gan/precision.hpp"

namespace gangway::gan {
namespace {

// A product with one-hot rows replaces the embedding look-up because its gradient has one order of
// sums on every device.
at::Tensor one_hot_rows(const at::Tensor& labels, std::int64_t classes) {
  return at::one_hot(labels, classes).to(at::kFloat);
}

}  // namespace

at::Tensor embedded(const at::Tensor& labels, const at::Tensor& embedding) {
  return one_hot_rows(labels, embedding.size(0)).to(embedding.scalar_type()).matmul(embedding);
}

NamedTensors LabelConcatenation::forward(const NamedTensors& in, const ForwardContext&) {
  return in.with("noise",
                 at::cat({in.at("noise"), one_hot_rows(in.at("labels"), spec().classes)}, 1));
}

NamedTensors ProjectionHead::forward(const NamedTensors& in, const ForwardContext&) {
  const at::Tensor features = in.at("features").reshape({-1, spec().features, spec().pixels});
  const at::Tensor unconditional = at::linear(features.flatten(1), weight_->tensor);
  const at::Tensor direction = embedded(in.at("labels"), embedding_->tensor);
  return in.with("features", unconditional + (direction * widened(features).mean(2)).sum(1, true));
}

NamedTensors LabelEmbedding::forward(const NamedTensors& in, const ForwardContext&) {
  return in.with("noise",
                 at::cat({in.at("noise"), embedded(in.at("labels"), embedding_->tensor)}, 1));
}

NamedTensors LabelProduct::forward(const NamedTensors& in, const ForwardContext&) {
  const at::Tensor direction = embedded(in.at("labels"), embedding_->tensor);
  return in.with("features", (widened(in.at("features")) * direction).sum(1, true));
}

}  // namespace gangway::gan
