// SPDX-License-Identifier: MIT
// BigGAN.
#include <algorithm>
#include <cmath>

#include "job/blocks/block_constants.hpp"
#include "job/primitives/lowered_block.hpp"

namespace gangway::primitives {
namespace {

/// Returns the spectral norm of `weight` [out, …], estimated by one power iteration from
/// `direction` [out], as the block does in evaluation. @pre values are known
double spectral_norm(const GraphTensor& weight, const GraphTensor& direction) {
  const std::size_t rows = direction.values.size();
  const std::size_t columns = weight.values.size() / rows;
  const auto at = [&](std::size_t row, std::size_t column) {
    return static_cast<double>(weight.values[row * columns + column]);
  };
  std::vector<double> right(columns, 0.0);
  double squares = 0.0;
  for (std::size_t column = 0; column < columns; ++column) {
    for (std::size_t row = 0; row < rows; ++row) {
      right[column] += at(row, column) * static_cast<double>(direction.values[row]);
    }
    squares += right[column] * right[column];
  }
  const double length = std::max(std::sqrt(squares), kSpectralFloor);
  squares = 0.0;
  for (std::size_t row = 0; row < rows; ++row) {
    double sum = 0.0;
    for (std::size_t column = 0; column < columns; ++column) {
      sum += at(row, column) * right[column] / length;
    }
    squares += sum * sum;
  }
  // The left vector is weight * right over its own length, so the norm is that length.
  return std::max(std::sqrt(squares), kSpectralFloor);
}

/// Returns the weight of map `name`, divided by its spectral norm.
Tensor spectral_weight(const LoweredBlock& block, const std::string& name) {
  const Tensor weight = block.tensor(name + ".weight");
  const Tensor direction = block.tensor(name + ".direction");
  const GraphBuilder& builder = block.builder();
  return builder.at(weight).values.empty()
             ? weight
             : weight * (1.0 / spectral_norm(builder.at(weight), builder.at(direction)));
}

Tensor spectral_linear(const LoweredBlock& block, const std::string& name, const Tensor& x) {
  return linear(x, spectral_weight(block, name), block.find_tensor(name + ".bias"));
}

Tensor spectral_convolution(const LoweredBlock& block, const std::string& name, const Tensor& x) {
  const Tensor weight = spectral_weight(block, name);
  return convolved(x, weight, block.find_tensor(name + ".bias"), {.padding = weight.size(3) / 2});
}

/// Gains and shifts of a BatchNorm [N, channels]; none: they are weights.
struct Condition {
  std::optional<Tensor> of_style = std::nullopt;  ///< the input of their maps
  bool is_label = false;                          ///< they are embeddings
};

/// Applies BatchNorm `name`, then ReLU.
Tensor batch_normalized(const LoweredBlock& block, const std::string& name, const Tensor& x,
                        const Condition& told) {
  const Tensor mean = block.tensor(name + ".running_mean");
  const Tensor root = applied(Operation::kRoot, block.tensor(name + ".running_var"), kNormEpsilon);
  const bool is_told = told.is_label || told.of_style;
  const Tensor scale =
      (is_told ? block.builder().scalar(1.0) : block.tensor(name + ".weight")) / root;
  const Tensor shift = is_told ? mean * scale * -1.0 : block.tensor(name + ".bias") - mean * scale;
  const Shape as_factors{x.size(1), 1, 1};
  Tensor y = x * constant_as(scale, as_factors) + constant_as(shift, as_factors);
  if (is_told) {
    const auto part = [&](const std::string& of) {
      return as_maps(told.is_label
                         ? looked_up(block.tensor(name + of + ".embedding"), block.in("labels"))
                         : spectral_linear(block, name + of, *told.of_style));
    };
    y = y * (part("_gain") + 1.0) + part("_shift");
  }
  return applied(Operation::kRelu, y);
}

}  // namespace

void lower(const SpectralStemSpec& spec, LoweredBlock& block) {
  const Tensor y = spectral_linear(block, "linear", sliced(block.in("noise"), 1, 0, spec.taken));
  block.out("features", reshaped(y, {spec.channels, kStemSide, kStemSide}));
}

void lower(const SharedEmbeddingSpec&, LoweredBlock& block) {
  block.out("style", looked_up(block.tensor("embedding"), block.in("labels")));
}

void lower(const SpectralUpSpec& spec, LoweredBlock& block) {
  Condition told{.is_label = spec.classes > 0};
  if (spec.style > 0) {
    told.of_style = block.in("style");
  }
  if (spec.taken > 0) {
    told.of_style = joined(
        {block.in("style"), sliced(block.in("noise"), 1, spec.first, spec.first + spec.taken)}, 1);
  }
  const Tensor& x = block.in("features");
  Tensor y = repeated(batch_normalized(block, "first_norm", x, told), 2);
  y = spectral_convolution(block, "first", y);
  y = spectral_convolution(block, "second", batch_normalized(block, "second_norm", y, told));
  block.out("features", y + repeated(spectral_convolution(block, "shortcut", x), 2));
}

void lower(const SpectralPictureSpec&, LoweredBlock& block) {
  const Tensor y = batch_normalized(block, "norm", block.in("features"), {});
  block.out("features", applied(Operation::kTanh, spectral_convolution(block, "picture", y)));
}

void lower(const SpectralDownSpec& spec, LoweredBlock& block) {
  Tensor x = block.in(spec.is_first ? "image" : "features");
  Tensor y = spectral_convolution(block, "first", spec.is_first ? x : applied(Operation::kRelu, x));
  y = spectral_convolution(block, "second", applied(Operation::kRelu, y));
  if (spec.halves) {
    x = averaged(x, 2);
    y = averaged(y, 2);
  }
  block.out(
      "features",
      y + (block.find_tensor("shortcut.weight") ? spectral_convolution(block, "shortcut", x) : x));
}

void lower(const SpectralAttentionSpec&, LoweredBlock& block) {
  const Tensor& x = block.in("features");
  const auto flat = [](const Tensor& maps) {  // [N, channels, pixels]
    return reshaped(maps, {maps.size(1), maps.size(2) * maps.size(3)});
  };
  const auto largest_of_four = [&](const std::string& name) {
    return flat(mapped(Operation::kMaximumPooling, spectral_convolution(block, name, x),
                       {.kernel = 2, .stride = 2}));
  };
  const Tensor query = transposed(flat(spectral_convolution(block, "query", x)), {0, 2, 1});
  const Tensor shares =
      along(Operation::kSoftmax, matrix_product(query, largest_of_four("key")), {2});
  const Tensor told = matrix_product(largest_of_four("value"), transposed(shares, {0, 2, 1}));
  const Tensor maps = reshaped(told, {told.size(1), x.size(2), x.size(3)});
  block.out("features", x + spectral_convolution(block, "joined", maps) * block.tensor("gain"));
}

void lower(const SpectralHeadSpec& spec, LoweredBlock& block) {
  const Tensor sums =
      reshaped(along(Operation::kSum, applied(Operation::kRelu, block.in("features")), {2, 3}),
               {spec.features});
  Tensor logits = spectral_linear(block, "linear", sums);
  if (spec.classes > 0) {
    const Tensor direction = looked_up(spectral_weight(block, "embedding"), block.in("labels"));
    logits = logits + along(Operation::kSum, direction * sums, {1});
  }
  block.out("features", logits);
}

}  // namespace gangway::primitives
