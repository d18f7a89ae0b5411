// SPDX-License-Identifier: MIT
// Blocks that make a network conditional on labels (int64 [N], under the name "labels"). For what
// they compute see job/blocks/label_specs.hpp.
#pragma once

#include <memory>

#include "gan/block.hpp"
#include "job/blocks/label_specs.hpp"

namespace gangway::gan {

/// Returns the row of `embedding` [classes, features] for each label.
[[nodiscard]] at::Tensor embedded(const at::Tensor& labels, const at::Tensor& embedding);

class LabelConcatenation final : public Block {
 public:
  explicit LabelConcatenation(const LabelConcatenationSpec& spec)
      : Block(ports_of(spec)), spec_(spec) {}
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const LabelConcatenationSpec& spec() const { return spec_; }

 private:
  LabelConcatenationSpec spec_;
};

class ProjectionHead final : public Block {
 public:
  explicit ProjectionHead(const ProjectionHeadSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const ProjectionHeadSpec& spec() const { return spec_; }

 private:
  ProjectionHeadSpec spec_;
  Parameter* weight_;
  Parameter* embedding_;
};

class LabelEmbedding final : public Block {
 public:
  explicit LabelEmbedding(const LabelEmbeddingSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const LabelEmbeddingSpec& spec() const { return spec_; }

 private:
  LabelEmbeddingSpec spec_;
  Parameter* embedding_;
};

class LabelProduct final : public Block {
 public:
  explicit LabelProduct(const LabelProductSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const LabelProductSpec& spec() const { return spec_; }

 private:
  LabelProductSpec spec_;
  Parameter* embedding_;
};

[[nodiscard]] std::unique_ptr<Block> make_block(const LabelConcatenationSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const ProjectionHeadSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const LabelEmbeddingSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const LabelProductSpec& spec);

}  // namespace gangway::gan
