// SPDX-License-Identifier: MIT
#include "job/primitives/graph_builder.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "base/errors.hpp"
#include "job/blocks/block_constants.hpp"
#include "job/primitives/constant_folding.hpp"

namespace gangway::primitives {
namespace {

Tensor of_two(Operation operation, const Tensor& a, const Tensor& b) {
  return a.builder().append({.operation = operation, .inputs = {a.index(), b.index()}});
}

std::vector<std::size_t> indices_of(const std::vector<Tensor>& tensors) {
  std::vector<std::size_t> indices;
  std::ranges::transform(tensors, std::back_inserter(indices), &Tensor::index);
  return indices;
}

Tensor convolution_of(Operation operation, const Tensor& x, const Tensor& weight,
                      const std::optional<Tensor>& bias, Window window) {
  std::vector<Tensor> inputs{x, weight};
  if (bias) {
    inputs.push_back(*bias);
  }
  window.kernel = weight.size(3);
  return x.builder().append(
      {.operation = operation, .inputs = indices_of(inputs), .window = window});
}

/// Returns the filter [1, 3, 3, 1] / 8, squared, for each map of `x`, times `factor`.
Tensor smoothing_filter(const Tensor& x, double factor) {
  constexpr std::array<double, 4> kLine{0.125, 0.375, 0.375, 0.125};
  std::vector<float> values;
  for (std::int64_t channel = 0; channel < x.size(1); ++channel) {
    for (const double row : kLine) {
      for (const double column : kLine) {
        values.push_back(static_cast<float>(row * column * factor));
      }
    }
  }
  return x.builder().constant({x.size(1), 1, 4, 4}, std::move(values));
}

}  // namespace

const Shape& Tensor::shape() const { return builder_->at(*this).shape; }

Tensor GraphBuilder::input(std::string name, Shape shape) {
  graph_.inputs.push_back(graph_.tensors.size());
  graph_.tensors.push_back({.name = std::move(name), .shape = std::move(shape)});
  return {*this, graph_.inputs.back()};
}

Tensor GraphBuilder::constant(Shape shape, std::vector<float> values, std::string name) {
  graph_.tensors.push_back({.name = std::move(name),
                            .shape = std::move(shape),
                            .is_constant = true,
                            .values = std::move(values)});
  return {*this, graph_.tensors.size() - 1};
}

Tensor GraphBuilder::scalar(double value) { return constant({}, {static_cast<float>(value)}); }

Tensor GraphBuilder::append(Primitive primitive) {
  Inputs inputs;
  for (const std::size_t input : primitive.inputs) {
    inputs.push_back(&graph_.tensors[input]);
  }
  Shape shape = shape_of(primitive, inputs);
  if (can_fold(primitive.operation) && std::ranges::all_of(inputs, &GraphTensor::is_constant)) {
    std::vector<float> values = folded(primitive, inputs, shape);
    return constant(std::move(shape), std::move(values), inputs.front()->name);
  }
  graph_.tensors.push_back({.shape = std::move(shape)});
  primitive.output = graph_.tensors.size() - 1;
  primitive.block = block_;
  graph_.primitives.push_back(std::move(primitive));
  return {*this, graph_.tensors.size() - 1};
}

PrimitiveGraph GraphBuilder::finish(const std::vector<Tensor>& outputs) {
  graph_.outputs = indices_of(outputs);
  std::set<std::size_t> taken;
  for (const Primitive& primitive : graph_.primitives) {
    taken.insert(primitive.inputs.begin(), primitive.inputs.end());
  }
  for (std::size_t index = 0; index < graph_.tensors.size(); ++index) {
    if (!taken.contains(index)) {
      graph_.tensors[index].values = {};
    }
  }
  return std::move(graph_);
}

Tensor operator+(const Tensor& a, const Tensor& b) { return of_two(Operation::kAdd, a, b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return of_two(Operation::kSubtract, a, b); }
Tensor operator*(const Tensor& a, const Tensor& b) { return of_two(Operation::kMultiply, a, b); }
Tensor operator/(const Tensor& a, const Tensor& b) { return of_two(Operation::kDivide, a, b); }
Tensor operator+(const Tensor& a, double b) { return a + a.builder().scalar(b); }
Tensor operator*(const Tensor& a, double b) { return a * a.builder().scalar(b); }

Tensor applied(Operation operation, const Tensor& x, double number) {
  return x.builder().append({.operation = operation, .inputs = {x.index()}, .number = number});
}

Tensor activated(const Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return applied(Operation::kRelu, x);
    case Activation::kLeakyRelu:
      return leaky(x);
    case Activation::kSoftplus:
      return applied(Operation::kSoftplus, x);
    case Activation::kTanh:
      return applied(Operation::kTanh, x);
  }
  return x;
}

Tensor leaky(const Tensor& x) { return applied(Operation::kLeakyRelu, x, kLeakySlope); }

Tensor silu(const Tensor& x) { return x * applied(Operation::kSigmoid, x); }

Tensor along(Operation operation, const Tensor& x, Shape axes) {
  return x.builder().append(
      {.operation = operation, .inputs = {x.index()}, .axes = std::move(axes)});
}

Tensor of_unit_mean_square(const Tensor& x, std::size_t axis, double epsilon) {
  const Tensor squares = along(Operation::kMean, x * x, {static_cast<std::int64_t>(axis)});
  return x / applied(Operation::kRoot, squares, epsilon);
}

Tensor reshaped(const Tensor& x, Shape axes) {
  return along(Operation::kReshape, x, std::move(axes));
}

Tensor constant_as(const Tensor& constant, Shape shape) {
  const GraphTensor& is = constant.builder().at(constant);
  if (!is.is_constant) {
    throw InvariantError("constant_as() takes constants");
  }
  return constant.builder().constant(std::move(shape), is.values, is.name);
}

Tensor as_maps(const Tensor& factors) { return reshaped(factors, {factors.size(1), 1, 1}); }

Tensor transposed(const Tensor& x, Shape order) {
  return along(Operation::kTransposition, x, std::move(order));
}

Tensor joined(const std::vector<Tensor>& parts, std::int64_t axis) {
  return parts.front().builder().append(
      {.operation = Operation::kConcatenation, .inputs = indices_of(parts), .axes = {axis}});
}

Tensor sliced(const Tensor& x, std::int64_t axis, std::int64_t begin, std::int64_t end) {
  return x.builder().append({.operation = Operation::kSlice,
                             .inputs = {x.index()},
                             .axes = {axis},
                             .begin = begin,
                             .end = end});
}

Tensor matrix_product(const Tensor& a, const Tensor& b) {
  return of_two(Operation::kMatrixProduct, a, b);
}

double num_inputs(const Tensor& weight) {
  return static_cast<double>(num_elements(weight.shape()) / weight.size(0));
}

Tensor linear(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias) {
  const Tensor y = matrix_product(x, transposed(weight, {1, 0}));
  return bias ? y + *bias : y;
}

Tensor looked_up(const Tensor& table, const Tensor& labels) {
  return of_two(Operation::kLookup, table, labels);
}

Tensor convolved(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
                 Window window) {
  return convolution_of(Operation::kConvolution, x, weight, bias, window);
}

Tensor convolved_transposed(const Tensor& x, const Tensor& weight,
                            const std::optional<Tensor>& bias, Window window) {
  return convolution_of(Operation::kTransposedConvolution, x, weight, bias, window);
}

Tensor mapped(Operation operation, const Tensor& x, Window window, double number) {
  return x.builder().append(
      {.operation = operation, .inputs = {x.index()}, .window = window, .number = number});
}

Tensor repeated(const Tensor& x, std::int64_t factor) {
  return factor == 1 ? x : mapped(Operation::kRepetition, x, {.stride = factor});
}

Tensor averaged(const Tensor& x, std::int64_t side) {
  return side == 1 ? x : mapped(Operation::kAveragePooling, x, {.kernel = side, .stride = side});
}

Tensor instance_normalized(const Tensor& x, std::optional<Tensor> gain,
                           std::optional<Tensor> shift) {
  const auto filled = [&](float value) {
    const auto channels = static_cast<std::size_t>(x.size(1));
    return x.builder().constant({x.size(1)}, std::vector<float>(channels, value));
  };
  return x.builder().append({.operation = Operation::kInstanceNorm,
                             .inputs = {x.index(), gain ? gain->index() : filled(1.0F).index(),
                                        shift ? shift->index() : filled(0.0F).index()},
                             .number = kNormEpsilon});
}

Tensor upsampled(const Tensor& x) {
  return convolved_transposed(x, smoothing_filter(x, 4.0), std::nullopt,
                              {.stride = 2, .padding = 1, .groups = x.size(1)});
}

Tensor downsampled(const Tensor& x) {
  return convolved(x, smoothing_filter(x, 1.0), std::nullopt,
                   {.stride = 2, .padding = 1, .groups = x.size(1)});
}

Tensor smoothed(const Tensor& x, std::int64_t padding, double factor) {
  return convolved(x, smoothing_filter(x, factor), std::nullopt,
                   {.padding = padding, .groups = x.size(1)});
}

}  // namespace gangway::primitives
