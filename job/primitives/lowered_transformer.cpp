// SPDX-License-Identifier: MIT
// GAT.
#include <cmath>

#include "job/blocks/block_constants.hpp"
#include "job/primitives/lowered_block.hpp"

namespace gangway::primitives {
namespace {

Tensor rms_normalized(const Tensor& x, double epsilon = kTokenEpsilon) {
  return of_unit_mean_square(x, x.shape().size() - 1, epsilon);
}

/// Applies "NAME.weight" and "NAME.bias", both times `rate`.
Tensor token_linear(const LoweredBlock& block, const std::string& name, const Tensor& x,
                    double rate = 1.0) {
  return linear(x, block.tensor(name + ".weight") * rate, block.tensor(name + ".bias") * rate);
}

Tensor attention(const TransformerSpec& spec, const LoweredBlock& block, const Tensor& x) {
  const std::int64_t tokens = x.size(1);
  const std::int64_t features = spec.width / spec.heads;
  const Tensor taken = token_linear(block, "taken", x);
  const auto part = [&](std::int64_t number) {  // [N, heads, tokens, features]
    const Tensor all = sliced(taken, 2, number * spec.width, (number + 1) * spec.width);
    return transposed(reshaped(all, {tokens, spec.heads, features}), {0, 2, 1, 3});
  };
  const double scale = 1.0 / std::sqrt(static_cast<double>(features));
  const Tensor query = rms_normalized(part(0)) * (block.tensor("query.gain") * scale);
  const Tensor key = rms_normalized(part(1)) * block.tensor("key.gain");
  const Tensor shares =
      along(Operation::kSoftmax, matrix_product(query, transposed(key, {0, 1, 3, 2})), {3});
  const Tensor told = transposed(matrix_product(shares, part(2)), {0, 2, 1, 3});
  return token_linear(block, "joined", reshaped(told, {tokens, spec.width}));
}

Tensor mlp(const TransformerSpec& spec, const LoweredBlock& block, const Tensor& x) {
  const Tensor halves = token_linear(block, "expand", x);
  return token_linear(
      block, "contract",
      silu(sliced(halves, 2, 0, spec.hidden)) * sliced(halves, 2, spec.hidden, 2 * spec.hidden));
}

}  // namespace

void lower(const TokenStyleSpec& spec, LoweredBlock& block) {
  Tensor x = rms_normalized(block.in("noise"), kStyleEpsilon);
  if (spec.classes > 0) {
    const Tensor label = looked_up(block.tensor("embedding"), block.in("labels"));
    x = joined({rms_normalized(label, kStyleEpsilon), x}, 1);
  }
  block.out("style", token_linear(block, "second",
                                  silu(token_linear(block, "first", x, kStyleRate)), kStyleRate));
}

void lower(const TokenGridSpec& spec, LoweredBlock& block) {
  // For a batch of one; the first layer's gains broadcast it.
  block.out("features",
            constant_as(block.tensor("positions"), {1, spec.side * spec.side, spec.width}));
}

void lower(const TransformerSpec& spec, LoweredBlock& block) {
  std::vector<Tensor> gains;  // before and behind the attention, before and behind the MLP
  if (spec.style > 0) {
    const Tensor all =
        reshaped(token_linear(block, "style", silu(block.in("style"))), {1, 4 * spec.width});
    for (std::int64_t part = 0; part < 4; ++part) {
      const Tensor gain = sliced(all, 2, part * spec.width, (part + 1) * spec.width);
      gains.push_back(part % 2 == 0 ? gain + 1.0 : gain);
    }
  } else {
    gains = {block.tensor("attention.before"), block.tensor("attention.behind"),
             block.tensor("mlp.before"), block.tensor("mlp.behind")};
  }
  Tensor x = block.in("features");
  x = x + gains[1] * attention(spec, block, rms_normalized(x) * gains[0]);
  x = x + gains[3] * mlp(spec, block, rms_normalized(x) * gains[2]);
  block.out("features", x);
}

void lower(const PatchPictureSpec& spec, LoweredBlock& block) {
  const Tensor gain = token_linear(block, "style", silu(block.in("style"))) + 1.0;
  const Tensor x = rms_normalized(block.in("features")) * reshaped(gain, {1, spec.width});
  const Tensor patches = reshaped(token_linear(block, "picture", x),
                                  {spec.side, spec.side, spec.channels, spec.patch, spec.patch});
  const std::int64_t pixels = spec.side * spec.patch;
  Tensor picture =
      reshaped(transposed(patches, {0, 3, 1, 4, 2, 5}), {spec.channels, pixels, pixels});
  if (spec.depth > 0) {
    picture = block.in("pictures") + picture;  // evaluation needs only the last, the sum of all
  }
  block.out(spec.is_last ? "features" : "pictures", picture);
}

void lower(const PatchEmbeddingSpec& spec, LoweredBlock& block) {
  const auto depths = static_cast<std::size_t>(spec.depths);
  const Tensor& image = block.in("image");
  const Tensor pictures = depths == 1 ? image : joined(std::vector(depths, image), 1);
  const std::int64_t channels = spec.depths * spec.channels;
  const Tensor patches =
      transposed(reshaped(pictures, {channels, spec.side, spec.patch, spec.side, spec.patch}),
                 {0, 2, 4, 1, 3, 5});
  const Tensor tokens =
      token_linear(block, "patch",
                   reshaped(patches, {spec.side * spec.side, channels * spec.patch * spec.patch}));
  // The learned token in front, for any batch: zeros, and the token as their position.
  const Tensor behind = tokens.builder().append(
      {.operation = Operation::kZerosInFront, .inputs = {tokens.index()}, .axes = {1}, .begin = 1});
  block.out("features", behind + joined({block.tensor("token"), block.tensor("positions")}, 0));
}

void lower(const TokenHeadSpec& spec, LoweredBlock& block) {
  const Tensor token = reshaped(sliced(block.in("features"), 1, 0, 1), {spec.width});
  block.out("features",
            token_linear(block, "head", rms_normalized(token) * block.tensor("before")));
}

}  // namespace gangway::primitives
