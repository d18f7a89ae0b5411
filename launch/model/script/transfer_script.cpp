// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "gan/blocks/layer_block.hpp"
#include "gan/blocks/transfer_blocks.hpp"
#include "launch/model/script/block_scripts.hpp"

namespace gangway::launch {
namespace {

/// Writes `to` = convolution of `from`; only the stride changes the size. The block's padding
/// copies pixels, so reflection_pad2d gives the same values.
std::string convolution_line(const std::string& to, const std::string& from,
                             const std::string& module, std::int64_t kernel, std::int64_t stride) {
  const std::int64_t pixels = kernel / 2;
  const std::string padded =
      pixels == 0 ? from
                  : fmt::format("torch.reflection_pad2d({0}, [{1}, {1}, {1}, {1}])", from, pixels);
  return fmt::format("    {0} = torch.conv2d({1}, {2}.weight, {2}.bias, [{3}, {3}])\n", to, padded,
                     module, stride);
}

std::string norm_line(const std::string& name, const std::string& module) {
  return fmt::format(
      "    {0} = torch.instance_norm({0}, {1}.weight, {1}.bias, None, None, True, {2}, {3:.10f}, "
      "True)\n",
      name, module, kStatisticMomentum, gan::kNormEpsilon);
}

std::string layer_text(const TransferLayerSpec& spec, const std::string& self) {
  std::string text;
  if (spec.doubles) {
    text += "    x = torch.upsample_nearest2d(x, None, [2.0, 2.0])\n";
  }
  text += convolution_line("x", "x", self, spec.kernel, spec.stride);
  if (spec.normalizes) {
    text += norm_line("x", self + ".norm");
  }
  if (spec.activation == Activation::kRelu) {
    text += "    x = torch.relu(x)\n";
  } else if (spec.activation == Activation::kTanh) {
    text += "    x = torch.tanh(x)\n";
  }
  return text;
}

std::string residual_text(const std::string& self) {
  constexpr std::int64_t kKernel = 3;
  return convolution_line("y", "x", self + ".first", kKernel, 1) +
         norm_line("y", self + ".first_norm") + "    y = torch.relu(y)\n" +
         convolution_line("y", "y", self + ".second", kKernel, 1) +
         norm_line("y", self + ".second_norm") + "    x = y + x\n";
}

}  // namespace

std::string lines_of_transfer(const gan::Block& block, const std::string& self) {
  if (const auto* layer = dynamic_cast<const gan::TransferLayer*>(&block)) {
    return layer_text(layer->spec(), self);
  }
  return dynamic_cast<const gan::TransferResidual*>(&block) != nullptr ? residual_text(self) : "";
}

}  // namespace gangway::launch
