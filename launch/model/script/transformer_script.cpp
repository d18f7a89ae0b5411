// SPDX-License-Identifier: MIT
#include <cmath>

#include <fmt/format.h>

#include "gan/blocks/transformer_blocks.hpp"
#include "launch/model/script/block_scripts.hpp"

namespace gangway::launch {
namespace {

/// Returns `name` divided by the root of its mean square.
std::string rms_normalized(const std::string& name, double epsilon) {
  return fmt::format("({0} * torch.rsqrt(torch.mean(torch.square({0}), [-1], True) + {1:e}))", name,
                     epsilon);
}

/// Applies "NAME.weight" and "NAME.bias" of `self` to `x`.
std::string linear_call(const std::string& self, const std::string& name, const std::string& x) {
  return fmt::format("torch.linear({2}, {0}.{1}.weight, {0}.{1}.bias)", self, name, x);
}

std::string style_lines(const TokenStyleSpec& spec, const std::string& self) {
  std::string text = fmt::format("    x = {}\n", rms_normalized("x", gan::kStyleEpsilon));
  if (spec.classes > 0) {
    text += fmt::format(
        "    y = torch.matmul(torch.to(torch.one_hot(labels, {}), x.dtype), {}.embedding)\n"
        "    x = torch.cat([{}, x], 1)\n",
        spec.classes, self, rms_normalized("y", gan::kStyleEpsilon));
  }
  const auto slow = [&](const char* name) {
    return fmt::format("torch.linear({2}, {0}.{1}.weight * {3}, {0}.{1}.bias * {3})", self, name,
                       "x", kStyleRate);
  };
  return text +
         fmt::format("    x = torch.silu({})\n    style = {}\n", slow("first"), slow("second"));
}

std::string layer_lines(const TransformerSpec& spec, const std::string& self) {
  std::string text;
  if (spec.style > 0) {
    text += fmt::format(
        "    gains = torch.chunk(torch.unsqueeze({}, 1), 4, 2)\n"
        "    before_attention = gains[0] + 1.0\n    behind_attention = gains[1]\n"
        "    before_mlp = gains[2] + 1.0\n    behind_mlp = gains[3]\n",
        linear_call(self, "style", "torch.silu(style)"));
  } else {
    text += fmt::format(
        "    before_attention = {0}.attention.before\n    behind_attention = {0}.attention.behind\n"
        "    before_mlp = {0}.mlp.before\n    behind_mlp = {0}.mlp.behind\n",
        self);
  }
  const std::int64_t features = spec.width / spec.heads;
  text += fmt::format("    y = {} * before_attention\n", rms_normalized("x", gan::kTokenEpsilon));
  text += fmt::format(
      "    parts = torch.unbind(torch.permute(torch.reshape({}, [x.size(0), x.size(1), 3, {}, "
      "{}]), "
      "[2, 0, 3, 1, 4]), 0)\n    query = parts[0]\n    key = parts[1]\n",
      linear_call(self, "taken", "y"), spec.heads, features);
  text += fmt::format("    query = {} * {}.query.gain\n    key = {} * {}.key.gain\n",
                      rms_normalized("query", gan::kTokenEpsilon), self,
                      rms_normalized("key", gan::kTokenEpsilon), self);
  text += fmt::format(
      "    shares = torch.softmax(torch.matmul(query * {:.17g}, torch.transpose(key, 2, 3)), -1)\n"
      "    y = torch.reshape(torch.transpose(torch.matmul(shares, parts[2]), 1, 2), "
      "[x.size(0), x.size(1), {}])\n"
      "    x = x + behind_attention * {}\n",
      1.0 / std::sqrt(static_cast<double>(features)), spec.width, linear_call(self, "joined", "y"));
  text += fmt::format(
      "    y = {} * before_mlp\n    halves = torch.chunk({}, 2, 2)\n"
      "    x = x + behind_mlp * {}\n",
      rms_normalized("x", gan::kTokenEpsilon), linear_call(self, "expand", "y"),
      linear_call(self, "contract", "torch.silu(halves[0]) * halves[1]"));
  return text;
}

std::string picture_lines(const PatchPictureSpec& spec, const std::string& self) {
  std::string text = fmt::format(
      "    y = {} * torch.unsqueeze({} + 1.0, 1)\n"
      "    y = torch.permute(torch.reshape({}, [-1, {}, {}, {}, {}, {}]), [0, 3, 1, 4, 2, 5])\n",
      rms_normalized("x", gan::kTokenEpsilon), linear_call(self, "style", "torch.silu(style)"),
      linear_call(self, "picture", "y"), spec.side, spec.side, spec.channels, spec.patch,
      spec.patch);
  const std::int64_t pixels = spec.side * spec.patch;
  text +=
      fmt::format("    y = torch.reshape(y, [-1, {}, {}, {}])\n", spec.channels, pixels, pixels);
  // Evaluation needs only the last picture, which is the sum of all.
  text += spec.depth > 0 ? "    pictures = pictures + y\n" : "    pictures = y\n";
  return spec.is_last ? text + "    x = pictures\n" : text;
}

std::string embedding_lines(const PatchEmbeddingSpec& spec, const std::string& self) {
  return fmt::format(
      "    y = torch.reshape(torch.repeat(x, [1, {0}, 1, 1]), [-1, {1}, {2}, {3}, {2}, {3}])\n"
      "    y = torch.reshape(torch.permute(y, [0, 2, 4, 1, 3, 5]), [-1, {4}, {5}])\n"
      "    y = {6} + {7}.positions\n"
      "    x = torch.cat([torch.repeat({7}.token, [y.size(0), 1, 1]), y], 1)\n",
      spec.depths, spec.depths * spec.channels, spec.side, spec.patch, spec.side * spec.side,
      spec.depths * spec.channels * spec.patch * spec.patch, linear_call(self, "patch", "y"), self);
}

}  // namespace

std::string lines_of_transformer(const gan::Block& block, const std::string& self) {
  if (const auto* style = dynamic_cast<const gan::TokenStyle*>(&block)) {
    return style_lines(style->spec(), self);
  }
  if (dynamic_cast<const gan::TokenGrid*>(&block) != nullptr) {
    return fmt::format("    x = torch.repeat({}.positions, [style.size(0), 1, 1])\n", self);
  }
  if (const auto* layer = dynamic_cast<const gan::TransformerBlock*>(&block)) {
    return layer_lines(layer->spec(), self);
  }
  if (const auto* picture = dynamic_cast<const gan::PatchPicture*>(&block)) {
    return picture_lines(picture->spec(), self);
  }
  if (const auto* embedding = dynamic_cast<const gan::PatchEmbedding*>(&block)) {
    return embedding_lines(embedding->spec(), self);
  }
  if (dynamic_cast<const gan::TokenHead*>(&block) != nullptr) {
    return fmt::format("    x = torch.select(x, 1, 0)\n    x = {} * {}.before\n    x = {}\n",
                       rms_normalized("x", gan::kTokenEpsilon), self,
                       linear_call(self, "head", "x"));
  }
  return "";
}

}  // namespace gangway::launch
