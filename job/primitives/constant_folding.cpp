// SPDX-License-Identifier: MIT
#include "job/primitives/constant_folding.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"

namespace gangway::primitives {
namespace {

Shape broadcast(const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()), 1);
  for (const Shape* each : {&a, &b}) {
    for (std::size_t behind = 1; behind <= each->size(); ++behind) {
      std::int64_t& size = shape[shape.size() - behind];
      const std::int64_t wanted = (*each)[each->size() - behind];
      if (size != 1 && wanted != 1 && size != wanted) {
        throw InvariantError(fmt::format("tensors [{}] and [{}] do not fit", fmt::join(a, ", "),
                                         fmt::join(b, ", ")));
      }
      size = std::max(size, wanted);
    }
  }
  return shape;
}

/// Returns elements to step per index of `shape`; 0 along axes where `of` repeats.
Shape strides_within(const Shape& of, const Shape& shape) {
  Shape strides(shape.size(), 0);
  std::int64_t step = 1;
  for (std::size_t behind = 1; behind <= of.size(); ++behind) {
    const std::int64_t size = of[of.size() - behind];
    strides[shape.size() - behind] = size == 1 ? 0 : step;
    step *= size;
  }
  return strides;
}

/// Calls `visit` with two offsets, which move by their strides, for each index of `shape` in
/// row-major order.
template <typename Visit>
void walk(const Shape& shape, const std::array<Shape, 2>& strides, const Visit& visit) {
  Shape index(shape.size(), 0);
  std::array<std::int64_t, 2> at{};
  for (std::int64_t left = num_elements(shape); left > 0; --left) {
    visit(static_cast<std::size_t>(at[0]), static_cast<std::size_t>(at[1]));
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      at[0] += strides[0][axis];
      at[1] += strides[1][axis];
      if (++index[axis] < shape[axis]) {
        break;
      }
      index[axis] = 0;
      at[0] -= strides[0][axis] * shape[axis];
      at[1] -= strides[1][axis] * shape[axis];
    }
  }
}

double combined(const Primitive& primitive, double a, double b) {
  switch (primitive.operation) {
    case Operation::kAdd:
      return a + b;
    case Operation::kSubtract:
      return a - b;
    case Operation::kMultiply:
      return a * b;
    case Operation::kDivide:
      return a / b;
    default:  // kRoot
      return std::sqrt(a + primitive.number);
  }
}

std::vector<float> sums(const GraphTensor& x, const Shape& shape) {
  std::vector<double> all(static_cast<std::size_t>(num_elements(shape)), 0.0);
  walk(x.shape, {strides_within(x.shape, x.shape), strides_within(shape, x.shape)},
       [&](std::size_t from, std::size_t to) { all[to] += static_cast<double>(x.values[from]); });
  return {all.begin(), all.end()};
}

Shape shape_of_maps(const Primitive& primitive, const Inputs& inputs) {
  Shape shape = inputs[0]->shape;
  if (primitive.operation == Operation::kConvolution) {
    shape.at(1) = inputs[1]->shape.at(0);
  } else if (primitive.operation == Operation::kTransposedConvolution) {
    shape.at(1) = inputs[1]->shape.at(1) * primitive.window.groups;
  } else if (primitive.operation == Operation::kGroupDeviation) {
    shape.at(1) = 1;
  }
  shape.at(2) = side_after(primitive, shape.at(2));
  shape.at(3) = side_after(primitive, shape.at(3));
  return shape;
}

Shape shape_along(const Primitive& primitive, const Inputs& inputs) {
  Shape shape = inputs[0]->shape;
  const auto axis = static_cast<std::size_t>(primitive.axes.front());
  switch (primitive.operation) {
    case Operation::kConcatenation:
      shape.at(axis) = 0;
      for (const GraphTensor* input : inputs) {
        shape.at(axis) += input->shape.at(axis);
      }
      break;
    case Operation::kSlice:
      shape.at(axis) = primitive.end - primitive.begin;
      break;
    case Operation::kZerosInFront:
      shape.at(axis) += primitive.begin;
      break;
    case Operation::kTransposition:
      std::ranges::transform(primitive.axes, shape.begin(), [&](std::int64_t from) {
        return inputs[0]->shape.at(static_cast<std::size_t>(from));
      });
      break;
    case Operation::kReshape:
      shape = {1};
      shape.insert(shape.end(), primitive.axes.begin(), primitive.axes.end());
      if (num_elements(shape) != num_elements(inputs[0]->shape)) {
        throw InvariantError(fmt::format(
            "a tensor [{}] is no [{}]", fmt::join(inputs[0]->shape, ", "), fmt::join(shape, ", ")));
      }
      break;
    default:  // kMean, kSum
      for (const std::int64_t each : primitive.axes) {
        shape.at(static_cast<std::size_t>(each)) = 1;
      }
      break;
  }
  return shape;
}

}  // namespace

std::int64_t side_after(const Primitive& primitive, std::int64_t side) {
  const Window& w = primitive.window;
  switch (primitive.operation) {
    case Operation::kConvolution:
    case Operation::kAveragePooling:
    case Operation::kMaximumPooling:
      return side + 2 * w.padding < w.kernel ? 0 : (side + 2 * w.padding - w.kernel) / w.stride + 1;
    case Operation::kTransposedConvolution:
      return (side - 1) * w.stride - 2 * w.padding + w.kernel + w.output_padding;
    case Operation::kRepetition:
      return side * w.stride;
    case Operation::kReflection:
      return side > w.padding ? side + 2 * w.padding : 0;
    default:
      return side;
  }
}

Shape shape_of(const Primitive& primitive, const Inputs& inputs) {
  const Shape& first = inputs.at(0)->shape;
  switch (primitive.operation) {
    case Operation::kAdd:
    case Operation::kSubtract:
    case Operation::kMultiply:
    case Operation::kDivide:
      return broadcast(first, inputs.at(1)->shape);
    case Operation::kMatrixProduct: {
      const Shape& second = inputs.at(1)->shape;
      if (first.back() != second.at(second.size() - 2)) {
        throw InvariantError(fmt::format("matrices [{}] and [{}] do not fit",
                                         fmt::join(first, ", "), fmt::join(second, ", ")));
      }
      Shape shape = first;
      shape.back() = second.back();
      return shape;
    }
    case Operation::kLookup:
      return {1, first.at(1)};
    case Operation::kConvolution:
    case Operation::kTransposedConvolution:
    case Operation::kAveragePooling:
    case Operation::kMaximumPooling:
    case Operation::kRepetition:
    case Operation::kReflection:
    case Operation::kGroupDeviation:
      return shape_of_maps(primitive, inputs);
    case Operation::kMean:
    case Operation::kSum:
    case Operation::kConcatenation:
    case Operation::kSlice:
    case Operation::kZerosInFront:
    case Operation::kTransposition:
    case Operation::kReshape:
      return shape_along(primitive, inputs);
    default:
      return first;
  }
}

bool can_fold(Operation operation) {
  switch (operation) {
    case Operation::kAdd:
    case Operation::kSubtract:
    case Operation::kMultiply:
    case Operation::kDivide:
    case Operation::kRoot:
    case Operation::kSum:
    case Operation::kTransposition:
      return true;
    default:
      return false;
  }
}

std::vector<float> folded(const Primitive& primitive, const Inputs& inputs, const Shape& shape) {
  if (std::ranges::any_of(inputs, [](const GraphTensor* input) { return input->values.empty(); })) {
    return {};
  }
  const GraphTensor& first = *inputs.front();
  if (primitive.operation == Operation::kSum) {
    return sums(first, shape);
  }
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(num_elements(shape)));
  if (primitive.operation == Operation::kTransposition) {
    const Shape own = strides_within(first.shape, first.shape);
    Shape strides(own.size());
    std::ranges::transform(primitive.axes, strides.begin(),
                           [&](std::int64_t from) { return own[static_cast<std::size_t>(from)]; });
    walk(shape, {strides, strides},
         [&](std::size_t from, std::size_t) { values.push_back(first.values[from]); });
    return values;
  }
  const GraphTensor& last = *inputs.back();
  walk(
      shape, {strides_within(first.shape, shape), strides_within(last.shape, shape)},
      [&](std::size_t a, std::size_t b) {
        values.push_back(static_cast<float>(combined(
            primitive, static_cast<double>(first.values[a]), static_cast<double>(last.values[b]))));
      });
  return values;
}

}  // namespace gangway::primitives
