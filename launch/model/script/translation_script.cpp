// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "gan/blocks/layer_block.hpp"
#include "gan/blocks/translation_blocks.hpp"
#include "launch/model/script/block_scripts.hpp"

namespace gangway::launch {
namespace {

/// Pads `name` with mirrored borders, in place.
std::string mirrored(const std::string& name, std::int64_t width) {
  return fmt::format("    {0} = torch.reflection_pad2d({0}, [{1}, {1}, {1}, {1}])\n", name, width);
}

std::string normalized(const std::string& name) {
  return fmt::format(
      "    {0} = {0} - torch.mean({0}, [2, 3], True)\n"
      "    {0} = {0} * torch.rsqrt(torch.mean(torch.square({0}), [2, 3], True) + {1:e})\n",
      name, gan::kNormEpsilon);
}

std::string instance_layer(const InstanceLayerSpec& spec, const std::string& self) {
  std::string text;
  if (spec.kind == LayerKind::kTransposedConvolution) {
    text = fmt::format(
        "    x = torch.conv_transpose2d(x, {0}.weight, {0}.bias, [{1}, {1}], [{2}, {2}], [{3}, "
        "{3}])\n",
        self, spec.stride, spec.padding, spec.output_padding);
  } else {
    const bool mirrors = spec.border == Border::kMirror;
    text = fmt::format("{4}    x = torch.conv2d(x, {0}.weight, {0}.bias, [{1}, {1}], [{2}, {3}])\n",
                       self, spec.stride, mirrors ? 0 : spec.padding, mirrors ? 0 : spec.padding,
                       mirrors ? mirrored("x", spec.padding) : "");
  }
  if (spec.normalizes) {
    text += normalized("x");
  }
  return text + activation_line(spec.activation);
}

std::string instance_residual(const std::string& self) {
  return fmt::format(
      "    y = x\n{1}    y = torch.conv2d(y, {0}.first.weight, {0}.first.bias)\n{2}"
      "    y = torch.relu(y)\n{1}    y = torch.conv2d(y, {0}.second.weight, {0}.second.bias)\n{2}"
      "    x = y + x\n",
      self, mirrored("y", 1), normalized("y"));
}

}  // namespace

std::string lines_of_translation(const gan::Block& block, const std::string& self) {
  if (const auto* skip = dynamic_cast<const gan::Skip*>(&block)) {
    return fmt::format("    x = torch.cat([torch.relu({}), x], 1)\n", skip->spec().skip);
  }
  if (const auto* layer = dynamic_cast<const gan::InstanceLayer*>(&block)) {
    return instance_layer(layer->spec(), self);
  }
  if (dynamic_cast<const gan::InstanceResidual*>(&block) != nullptr) {
    return instance_residual(self);
  }
  return "";
}

}  // namespace gangway::launch
