// SPDX-License-Identifier: MIT
// The blocks of StyleGAN2's discriminator (Karras et al., 2020). It may be cut at each. For what
// they compute see job/blocks/style_specs.hpp. Compute thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gan/block.hpp"
#include "gan/blocks/equalized_maps.hpp"
#include "job/blocks/style_specs.hpp"

namespace gangway::gan {

class StyleImage final : public EqualizedBlock {
 public:
  explicit StyleImage(const StyleImageSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const StyleImageSpec& spec() const { return spec_; }

 private:
  StyleImageSpec spec_;
  Parameter* weight_;
  Parameter* bias_;
};

class StyleHalving final : public EqualizedBlock {
 public:
  explicit StyleHalving(const StyleHalvingSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const StyleHalvingSpec& spec() const { return spec_; }

 private:
  StyleHalvingSpec spec_;
  Parameter* first_weight_;
  Parameter* first_bias_;
  Parameter* second_weight_;
  Parameter* second_bias_;
  Parameter* skip_weight_;  // null without a skip
};

class StyleEpilogue final : public EqualizedBlock {
 public:
  explicit StyleEpilogue(const StyleEpilogueSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const StyleEpilogueSpec& spec() const { return spec_; }

 private:
  StyleEpilogueSpec spec_;
  Parameter* weight_;
  Parameter* bias_;
  DenseMap dense_;
  DenseMap head_;
};

class StyleLabel final : public EqualizedBlock {
 public:
  explicit StyleLabel(const StyleLabelSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const StyleLabelSpec& spec() const { return spec_; }

 private:
  StyleLabelSpec spec_;
  DenseMap embedding_;
  Mapping mapping_;
};

/// Returns the group size for minibatch deviation: the largest divisor of `count` up to `most`.
[[nodiscard]] std::int64_t deviation_group(std::int64_t count, std::int64_t most);

[[nodiscard]] std::unique_ptr<Block> make_block(const StyleImageSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const StyleHalvingSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const StyleEpilogueSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const StyleLabelSpec& spec);

}  // namespace gangway::gan
