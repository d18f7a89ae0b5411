// SPDX-License-Identifier: MIT
// Blocks that make a network conditional on labels (int64 [N], under the name "labels"). For what
// they compute see job/blocks/label_specs.hpp.
#pragma once

#include "gan/blocks/spec_block.hpp"
#include "job/blocks/label_specs.hpp"

namespace gangway::gan {

/// Returns the row of `embedding` [classes, features] for each label.
[[nodiscard]] at::Tensor embedded(const at::Tensor& labels, const at::Tensor& embedding);

class LabelConcatenation final : public SpecBlock<LabelConcatenationSpec> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
};

class ProjectionHead final : public SpecBlock<ProjectionHeadSpec> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Parameter* weight_ = parameter("weight");
  Parameter* embedding_ = parameter("embedding");
};

class LabelEmbedding final : public SpecBlock<LabelEmbeddingSpec> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Parameter* embedding_ = parameter("embedding");
};

class LabelProduct final : public SpecBlock<LabelProductSpec> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Parameter* embedding_ = parameter("embedding");
};

}  // namespace gangway::gan
