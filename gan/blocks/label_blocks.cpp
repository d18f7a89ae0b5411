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
                 at::cat({in.at("noise"), one_hot_rows(in.at("labels"), spec_.classes)}, 1));
}

ProjectionHead::ProjectionHead(const ProjectionHeadSpec& spec)
    : Block(ports_of(spec), parameters_of(spec)),
      spec_(spec),
      weight_(parameter("weight")),
      embedding_(parameter("embedding")) {}

NamedTensors ProjectionHead::forward(const NamedTensors& in, const ForwardContext&) {
  const at::Tensor features = in.at("features").reshape({-1, spec_.features, spec_.pixels});
  const at::Tensor unconditional = at::linear(features.flatten(1), weight_->tensor);
  const at::Tensor direction = embedded(in.at("labels"), embedding_->tensor);
  return in.with("features", unconditional + (direction * widened(features).mean(2)).sum(1, true));
}

LabelEmbedding::LabelEmbedding(const LabelEmbeddingSpec& spec)
    : Block(ports_of(spec), parameters_of(spec)), spec_(spec), embedding_(parameter("embedding")) {}

NamedTensors LabelEmbedding::forward(const NamedTensors& in, const ForwardContext&) {
  return in.with("noise",
                 at::cat({in.at("noise"), embedded(in.at("labels"), embedding_->tensor)}, 1));
}

LabelProduct::LabelProduct(const LabelProductSpec& spec)
    : Block(ports_of(spec), parameters_of(spec)), spec_(spec), embedding_(parameter("embedding")) {}

NamedTensors LabelProduct::forward(const NamedTensors& in, const ForwardContext&) {
  const at::Tensor direction = embedded(in.at("labels"), embedding_->tensor);
  return in.with("features", (widened(in.at("features")) * direction).sum(1, true));
}

std::unique_ptr<Block> make_block(const LabelConcatenationSpec& spec) {
  return std::make_unique<LabelConcatenation>(spec);
}

std::unique_ptr<Block> make_block(const ProjectionHeadSpec& spec) {
  return std::make_unique<ProjectionHead>(spec);
}

std::unique_ptr<Block> make_block(const LabelEmbeddingSpec& spec) {
  return std::make_unique<LabelEmbedding>(spec);
}

std::unique_ptr<Block> make_block(const LabelProductSpec& spec) {
  return std::make_unique<LabelProduct>(spec);
}

}  // namespace gangway::gan
