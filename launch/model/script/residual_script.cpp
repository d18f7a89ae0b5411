// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "gan/blocks/layer_block.hpp"
#include "gan/blocks/residual_blocks.hpp"
#include "launch/model/script/block_scripts.hpp"

namespace gangway::launch {
namespace {

std::string residual_lines(const ResidualSpec& spec, const std::string& self) {
  const std::string activation = fmt::format("    y = torch.leaky_relu(y, {})\n", gan::kLeakySlope);
  return fmt::format(
      "    y = torch.conv2d(x, {0}.expand.weight, {0}.expand.bias)\n{1}"
      "    y = torch.conv2d(y, {0}.grouped.weight, {0}.grouped.bias, [1, 1], [1, 1], [1, 1], {2})\n"
      "{1}    x = torch.conv2d(y, {0}.contract.weight) + x\n",
      self, activation, spec.groups);
}

std::string resampling_lines(const ResamplingSpec& spec, const std::string& self) {
  const bool is_up = spec.direction == Resampling::kUp;
  const std::string pointwise =
      spec.in == spec.out ? "" : fmt::format("    x = torch.conv2d(x, {}.weight)\n", self);
  const std::string interpolation = fmt::format(
      "    f = 2.0 - torch.abs(torch.arange(4, dtype=x.dtype, device=x.device) - 1.5)\n"
      "    f = torch.tile(torch.outer(f, f) * {0}, [{1}, 1, 1, 1])\n"
      "    x = torch.{2}(x, f, None, [2, 2], [1, 1], {3}, {1})\n",
      is_up ? 0.25 : 0.0625, is_up ? spec.out : spec.in, is_up ? "conv_transpose2d" : "conv2d",
      is_up ? "[0, 0]" : "[1, 1]");
  return is_up ? pointwise + interpolation : interpolation + pointwise;
}

}  // namespace

std::string lines_of_residual(const gan::Block& block, const std::string& self) {
  if (const auto* residual = dynamic_cast<const gan::ResidualBlock*>(&block)) {
    return residual_lines(residual->spec(), self);
  }
  if (const auto* resampling = dynamic_cast<const gan::ResamplingBlock*>(&block)) {
    return resampling_lines(resampling->spec(), self);
  }
  if (dynamic_cast<const gan::GenerativeBasis*>(&block) != nullptr) {
    return fmt::format(
        "    x = torch.linear(x, {0}.weight, None)\n"
        "    x = {0}.basis * torch.unsqueeze(torch.unsqueeze(x, 2), 3)\n",
        self);
  }
  if (dynamic_cast<const gan::DiscriminativeBasis*>(&block) != nullptr) {
    return fmt::format("    x = torch.linear(torch.sum(x * {0}.basis, [2, 3]), {0}.weight, None)\n",
                       self);
  }
  return "";
}

}  // namespace gangway::launch
