// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "gan/blocks/layer_block.hpp"
#include "gan/blocks/style_blocks.hpp"
#include "gan/blocks/style_judges.hpp"
#include "job/blocks/residual_specs.hpp"
#include "job/blocks/transformer_specs.hpp"
#include "launch/model/script/block_scripts.hpp"

namespace gangway::launch {
namespace {

/// Returns the weight scale for a fan-in.
double gain_of(std::int64_t fan_in) { return 1.0 / std::sqrt(static_cast<double>(fan_in)); }

std::string style_activation(const std::string& x) {
  return fmt::format("torch.leaky_relu({}, {}) * {:.17g}", x, gan::kLeakySlope, M_SQRT2);
}

std::string with_unit_rows(const std::string& name) {
  return fmt::format("{0} * torch.rsqrt(torch.mean(torch.square({0}), [1], True) + {1:e})", name,
                     gan::kStyleNormEpsilon);
}

/// Reshapes factors to one for each map.
std::string as_maps(const std::string& factors) {
  return fmt::format("torch.unsqueeze(torch.unsqueeze({}, 2), 3)", factors);
}

std::string dense_call(const std::string& self, const std::string& name, const std::string& x,
                       std::int64_t in) {
  return fmt::format("torch.linear({2}, {0}.{1}.weight * {3:.17g}, {0}.{1}.bias)", self, name, x,
                     gain_of(in));
}

/// Stores the label's embedding in `y`.
std::string embedding_of_label(const std::string& self, std::int64_t classes) {
  return fmt::format(
      "    y = torch.matmul(torch.to(torch.one_hot(labels, {1}), {0}.embedding.weight.dtype), "
      "torch.t({0}.embedding.weight) * {2:.17g}) + {0}.embedding.bias\n    y = {3}\n",
      self, classes, gain_of(classes), with_unit_rows("y"));
}

/// Passes `name` through the layers of a mapping. @param in  elements of its first input
std::string lines_of_mapping(const std::string& self, const std::string& name, int layers,
                             std::int64_t in, std::int64_t features) {
  std::string text;
  for (int layer = 0; layer < layers; ++layer) {
    const std::string map = fmt::format(
        "torch.linear({1}, {0}.layer{2}.weight * {3:.17g}, {0}.layer{2}.bias * {4:.17g})", self,
        name, layer, gain_of(layer == 0 ? in : features) * kStyleRate, kStyleRate);
    text += fmt::format("    {} = {}\n", name, style_activation(map));
  }
  return text;
}

/// Smooths the `channels` maps of `y`. @param factor  applied to all maps
std::string smoothing_lines(std::int64_t channels, int padding, double factor) {
  return fmt::format(
      "    f = 2.0 - torch.abs(torch.arange(4, dtype=y.dtype, device=y.device) - 1.5)\n"
      "    f = torch.tile(torch.outer(f, f) * {1}, [{0}, 1, 1, 1])\n"
      "    y = torch.conv2d(y, f, None, [1, 1], [{2}, {2}], [1, 1], {0})\n",
      channels, factor / 16.0, padding);
}

std::string mapping_network_lines(const StyleMappingSpec& spec, const std::string& self) {
  std::string text = fmt::format("    x = {}\n", with_unit_rows("x"));
  std::int64_t in = spec.latent;
  if (spec.classes > 0) {
    text += embedding_of_label(self, spec.classes) + "    x = torch.cat([x, y], 1)\n";
    in += spec.features;
  }
  text += lines_of_mapping(self, "x", spec.layers, in, spec.features);
  return text +
         fmt::format("    styles = torch.repeat(torch.unsqueeze(x, 1), [1, {}, 1])\n", spec.count);
}

/// Computes `factors` of the block's input maps.
std::string factor_lines(const std::string& self, std::int64_t index, std::int64_t features) {
  return fmt::format(
      "    factors = {}\n",
      dense_call(self, "factors", fmt::format("torch.select(styles, 1, {})", index), features));
}

std::string style_layer_lines(const StyleLayerSpec& spec, const std::string& self) {
  std::string text = factor_lines(self, spec.index, spec.features);
  text += fmt::format("    y = x * {}\n", as_maps("factors"));
  if (spec.doubles) {
    text += fmt::format(
        "    y = torch.conv_transpose2d(y, torch.transpose({}.weight, 0, 1), None, [2, 2])\n",
        self);
    text += smoothing_lines(spec.out, 1, 4.0);
  } else {
    text += fmt::format("    y = torch.conv2d(y, {}.weight, None, [1, 1], [1, 1])\n", self);
  }
  text += fmt::format(
      "    squares = torch.linear(torch.square(factors), torch.sum(torch.square({0}.weight), "
      "[2, 3]), None)\n"
      "    y = y * {1}\n"
      "    y = y + torch.to({0}.{2}, y) * {0}.noise_strength\n",
      self, as_maps(fmt::format("torch.rsqrt(squares + {:e})", gan::kStyleNormEpsilon)),
      kConstantNoise);
  return text +
         fmt::format("    x = {}\n", style_activation(fmt::format(
                                         "y + torch.reshape({}.bias, [1, -1, 1, 1])", self)));
}

std::string style_picture_lines(const StylePictureSpec& spec, const std::string& self) {
  std::string text = factor_lines(self, spec.index, spec.features);
  text += fmt::format("    y = torch.conv2d(x * ({} * {:.17g}), {}.weight, {}.bias)\n",
                      as_maps("factors"), gain_of(spec.in), self, self);
  if (spec.is_first) {
    return text + "    picture = y\n";
  }
  text += fmt::format(
      "    f = 2.0 - torch.abs(torch.arange(4, dtype=y.dtype, device=y.device) - 1.5)\n"
      "    f = torch.tile(torch.outer(f, f) * 0.25, [{0}, 1, 1, 1])\n"
      "    picture = torch.conv_transpose2d(picture, f, None, [2, 2], [1, 1], [0, 0], {0}) + y\n",
      spec.channels);
  return spec.is_last ? text + "    x = picture\n" : text;
}

std::string equal_convolution_call(const std::string& self, const std::string& name,
                                   const std::string& x, std::int64_t fan_in,
                                   const std::string& rest) {
  return fmt::format("torch.conv2d({2}, {0}.{1}weight * {3:.17g}, {0}.{1}bias{4})", self, name, x,
                     gain_of(fan_in), rest);
}

std::string halving_lines(const StyleHalvingSpec& spec, const std::string& self) {
  std::string text =
      fmt::format("    y = {}\n", style_activation(equal_convolution_call(
                                      self, "first.", "x", spec.in * 9, ", [1, 1], [1, 1]")));
  text += smoothing_lines(spec.in, 2, 1.0);
  const std::string second = equal_convolution_call(self, "second.", "y", spec.in * 9, ", [2, 2]");
  if (!spec.is_residual) {
    return text + fmt::format("    x = {}\n", style_activation(second));
  }
  text += fmt::format("    y = torch.leaky_relu({}, {})\n", second, gan::kLeakySlope);
  return text +
         fmt::format(
             "    f = 2.0 - torch.abs(torch.arange(4, dtype=x.dtype, device=x.device) - 1.5)\n"
             "    f = torch.tile(torch.outer(f, f) * 0.0625, [{0}, 1, 1, 1])\n"
             "    x = torch.conv2d(x, f, None, [2, 2], [1, 1], [1, 1], {0})\n"
             "    x = y + torch.conv2d(x, {1}.skip.weight * {2:.17g}) * {3:.17g}\n",
             spec.in, self, gain_of(spec.in), M_SQRT1_2);
}

std::string epilogue_lines(const StyleEpilogueSpec& spec, const std::string& self) {
  std::string text = fmt::format(
      "    group = min({}, x.size(0))\n"
      "    while x.size(0) % group != 0:\n"
      "        group = group - 1\n"
      "    y = torch.reshape(x, [group, -1, x.size(1), x.size(2), x.size(3)])\n"
      "    y = torch.sqrt(torch.mean(torch.square(y - torch.mean(y, [0], True)), [0]) + {:e})\n"
      "    y = torch.reshape(torch.mean(y, [1, 2, 3]), [-1, 1, 1, 1])\n"
      "    x = torch.cat([x, torch.repeat(y, [group, 1, x.size(2), x.size(3)])], 1)\n",
      spec.group, gan::kStyleNormEpsilon);
  const std::string convolution = equal_convolution_call(
      self, "convolution.", "x", (spec.channels + 1) * 9, ", [1, 1], [1, 1]");
  text += fmt::format("    x = torch.flatten({}, 1)\n", style_activation(convolution));
  const std::int64_t pixels = kBasisSide * kBasisSide;
  text += fmt::format("    x = {}\n",
                      style_activation(dense_call(self, "dense", "x", spec.channels * pixels)));
  return text + fmt::format("    x = {}\n", dense_call(self, "head", "x", spec.channels));
}

std::string label_lines(const StyleLabelSpec& spec, const std::string& self) {
  return embedding_of_label(self, spec.classes) +
         lines_of_mapping(self, "y", spec.layers, spec.features, spec.features) +
         fmt::format("    x = torch.sum(x * y, [1], True) * {:.17g}\n", gain_of(spec.features));
}

}  // namespace

std::string lines_of_style(const gan::Block& block, const std::string& self) {
  if (const auto* mapping = dynamic_cast<const gan::StyleMapping*>(&block)) {
    return mapping_network_lines(mapping->spec(), self);
  }
  if (dynamic_cast<const gan::StyleConstant*>(&block) != nullptr) {
    return fmt::format("    x = torch.repeat({}.constant, [styles.size(0), 1, 1, 1])\n", self);
  }
  if (const auto* layer = dynamic_cast<const gan::StyleLayer*>(&block)) {
    return style_layer_lines(layer->spec(), self);
  }
  if (const auto* picture = dynamic_cast<const gan::StylePicture*>(&block)) {
    return style_picture_lines(picture->spec(), self);
  }
  if (const auto* image = dynamic_cast<const gan::StyleImage*>(&block)) {
    return fmt::format("    x = {}\n", style_activation(equal_convolution_call(
                                           self, "", "x", image->spec().channels, "")));
  }
  if (const auto* halving = dynamic_cast<const gan::StyleHalving*>(&block)) {
    return halving_lines(halving->spec(), self);
  }
  if (const auto* epilogue = dynamic_cast<const gan::StyleEpilogue*>(&block)) {
    return epilogue_lines(epilogue->spec(), self);
  }
  if (const auto* label = dynamic_cast<const gan::StyleLabel*>(&block)) {
    return label_lines(label->spec(), self);
  }
  return "";
}

}  // namespace gangway::launch
