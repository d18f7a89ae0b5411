// SPDX-License-Identifier: MIT
// Blocks of networks that translate pictures into pictures. A network may be cut at each. For what
// they compute see job/blocks/translation_specs.hpp. All operators sum in one order on any device
// and can be differentiated twice. Compute thread only.
#pragma once

#include <memory>

#include "gan/block.hpp"
#include "job/blocks/translation_specs.hpp"

namespace gangway::gan {

class Skip final : public Block {
 public:
  explicit Skip(const SkipSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const SkipSpec& spec() const { return spec_; }

 private:
  SkipSpec spec_;
};

class InstanceLayer final : public Block {
 public:
  explicit InstanceLayer(const InstanceLayerSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const InstanceLayerSpec& spec() const { return spec_; }

 private:
  InstanceLayerSpec spec_;
  Parameter* weight_;
  Parameter* bias_;
};

class InstanceResidual final : public Block {
 public:
  explicit InstanceResidual(const InstanceResidualSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Parameter* first_weight_;
  Parameter* first_bias_;
  Parameter* second_weight_;
  Parameter* second_bias_;
};

[[nodiscard]] std::unique_ptr<Block> make_block(const SkipSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const InstanceLayerSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const InstanceResidualSpec& spec);

}  // namespace gangway::gan
