// SPDX-License-Identifier: MIT
#include <cmath>

#include <fmt/format.h>

#include "gan/blocks/layer_block.hpp"
#include "gan/blocks/progressive_blocks.hpp"
#include "launch/model/script/block_scripts.hpp"

namespace gangway::launch {
namespace {

constexpr const char* kNothing = "    pass\n";

/// A layer of a block's module, with its weight scale.
struct EqualisedLayer {
  std::string name;  ///< with the module's prefix
  double scale = 1.0;
};

/// @param inputs  number of inputs summed for one output
EqualisedLayer layer_of(const std::string& self, const char* name, std::int64_t inputs,
                        double gain = gan::kActivatedGain) {
  return {fmt::format("{}.{}", self, name), gain / std::sqrt(static_cast<double>(inputs))};
}

std::string convolution(const EqualisedLayer& layer, const std::string& x, int padding) {
  return fmt::format("torch.conv2d({1}, {0}.weight * {2:.17g}, {0}.bias, [1, 1], [{3}, {3}])",
                     layer.name, x, layer.scale, padding);
}

std::string activation(const std::string& x) {
  return fmt::format("torch.leaky_relu({}, {})", x, gan::kLeakySlope);
}

std::string normalization_line() {
  return fmt::format("    x = x * torch.rsqrt(torch.mean(torch.square(x), [1], True) + {:e})\n",
                     gan::kPixelEpsilon);
}

std::string repeated(const std::string& x, std::int64_t side) {
  return fmt::format("torch.upsample_nearest2d({0}, [{1}, {1}])", x, side);
}

std::string convolution_line(const EqualisedLayer& layer) {
  return fmt::format("    x = {}\n", activation(convolution(layer, "x", 1)));
}

/// Equivalent of mixed() in gan/blocks/progressive_blocks.cpp.
std::string mixed(const std::string& older, const std::string& newer, double share) {
  return fmt::format("{} * {:.17g} + {} * {:.17g}", older, 1.0 - share, newer, share);
}

std::string picture_of(const std::string& self, std::int64_t channels) {
  return convolution(layer_of(self, "picture", channels, gan::kPlainGain), "x", 0);
}

std::string start_lines(const ProgressiveStartSpec& spec, const std::string& self, double growth) {
  const EqualisedLayer first = layer_of(self, "first", spec.in);
  std::string text = normalization_line() +
                     fmt::format(
                         "    x = torch.reshape(torch.linear(x, {0}.weight * {1:.17g}, None), [-1, "
                         "{2}, {3}, {3}]) "
                         "+ torch.reshape({0}.bias, [1, -1, 1, 1])\n    x = {4}\n",
                         first.name, first.scale, spec.channels, kFirstSide, activation("x")) +
                     normalization_line() +
                     convolution_line(layer_of(self, "second", 9 * spec.channels)) +
                     normalization_line();
  if (spec.place.finer_share(growth) < 1.0) {
    text += fmt::format("    picture = {}\n", picture_of(self, spec.channels));
  }
  return text;
}

std::string up_lines(const ProgressiveUpSpec& spec, const std::string& self, double growth) {
  const double share = spec.place.share(growth);
  if (share == 0.0) {
    return kNothing;
  }
  const std::int64_t side = spec.place.side();
  std::string text = fmt::format("    x = {}\n", repeated("x", side)) +
                     convolution_line(layer_of(self, "first", 9 * spec.in)) + normalization_line() +
                     convolution_line(layer_of(self, "second", 9 * spec.out)) +
                     normalization_line();
  if (spec.place.finer_share(growth) < 1.0) {
    const std::string picture = picture_of(self, spec.out);
    text += fmt::format("    picture = {}\n",
                        share == 1.0 ? picture : mixed(repeated("picture", side), picture, share));
  }
  return text;
}

/// Equivalent of ProgressiveJudge::incoming. @param channels  of the features
std::string incoming_lines(const GrowingPart& place, std::int64_t pictures, const std::string& self,
                           double growth) {
  const double finer = place.finer_share(growth);
  if (finer == 1.0) {
    return "";
  }
  const std::string seen = activation(convolution(layer_of(self, "picture", pictures), "seen", 0));
  // Takes pictures in the final resolution, because the exported network gets these.
  const std::int64_t square = std::int64_t{1} << (place.last - place.part);
  return fmt::format("    seen = torch.avg_pool2d(image, [{0}, {0}])\n    x = {1}\n", square,
                     finer == 0.0 ? seen : mixed(seen, "x", finer));
}

std::string down_lines(const ProgressiveDownSpec& spec, const std::string& self, double growth) {
  if (spec.place.share(growth) == 0.0) {
    return kNothing;
  }
  return incoming_lines(spec.place, spec.pictures, self, growth) +
         convolution_line(layer_of(self, "first", 9 * spec.in)) +
         convolution_line(layer_of(self, "second", 9 * spec.in)) +
         "    x = torch.avg_pool2d(x, [2, 2])\n";
}

std::string end_lines(const ProgressiveEndSpec& spec, const std::string& self, double growth) {
  const EqualisedLayer second = layer_of(self, "second", kFirstSide * kFirstSide * spec.channels);
  const EqualisedLayer logit = layer_of(self, "logit", spec.channels, gan::kPlainGain);
  std::string text =
      incoming_lines(spec.place, spec.pictures, self, growth) +
      fmt::format(
          "    y = torch.square(x - torch.mean(x, [0], True))\n"
          "    y = torch.mean(torch.sqrt(torch.mean(y, [0]) + {:e}))\n"
          "    y = torch.repeat(torch.reshape(y, [1, 1, 1, 1]), [x.size(0), 1, {}, {}])\n"
          "    x = torch.cat([x, y], 1)\n",
          gan::kPixelEpsilon, kFirstSide, kFirstSide) +
      convolution_line(layer_of(self, "first", 9 * (spec.channels + 1))) +
      fmt::format(
          "    x = torch.linear(torch.flatten(x, 1), {0}.weight * {1:.17g}, {0}.bias)\n"
          "    x = {2}\n    logits = torch.linear(x, {3}.weight * {4:.17g}, {3}.bias)\n",
          second.name, second.scale, activation("x"), logit.name, logit.scale);
  if (spec.classes > 0) {
    text += fmt::format(
        "    y = torch.matmul(torch.to(torch.one_hot(labels, {}), x.dtype), {}.embedding)\n"
        "    logits = logits + torch.sum(x * (y * {:.17g}), [1], True)\n",
        spec.classes, self, logit.scale);
  }
  return text + "    x = logits\n";
}

}  // namespace

std::string lines_of_progressive(const gan::Block& block, const std::string& self, double growth) {
  if (const auto* start = dynamic_cast<const gan::ProgressiveStart*>(&block)) {
    return start_lines(start->spec(), self, growth);
  }
  if (const auto* up = dynamic_cast<const gan::ProgressiveUp*>(&block)) {
    return up_lines(up->spec(), self, growth);
  }
  if (const auto* picture = dynamic_cast<const gan::ProgressivePicture*>(&block)) {
    return fmt::format("    x = {}\n", repeated("picture", picture->spec().side));
  }
  if (const auto* down = dynamic_cast<const gan::ProgressiveDown*>(&block)) {
    return down_lines(down->spec(), self, growth);
  }
  if (const auto* end = dynamic_cast<const gan::ProgressiveEnd*>(&block)) {
    return end_lines(end->spec(), self, growth);
  }
  return "";
}

}  // namespace gangway::launch
