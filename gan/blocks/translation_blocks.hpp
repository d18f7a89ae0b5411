// SPDX-License-Identifier: MIT
// Blocks of networks that translate pictures into pictures. A network may be cut at each. For what
// they compute see job/blocks/translation_specs.hpp. All operators sum in one order on any device
// and can be differentiated twice. Compute thread only.
#pragma once

#include "gan/blocks/spec_block.hpp"
#include "job/blocks/translation_specs.hpp"

namespace gangway::gan {

class Skip final : public SpecBlock<SkipSpec> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
};

class InstanceLayer final : public SpecBlock<InstanceLayerSpec> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Parameter* weight_ = parameter("weight");
  Parameter* bias_ = parameter("bias");
};

class InstanceResidual final : public SpecBlock<InstanceResidualSpec> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Parameter* first_weight_ = parameter("first.weight");
  Parameter* first_bias_ = parameter("first.bias");
  Parameter* second_weight_ = parameter("second.weight");
  Parameter* second_bias_ = parameter("second.bias");
};

}  // namespace gangway::gan
