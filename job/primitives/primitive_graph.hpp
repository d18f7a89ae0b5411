// SPDX-License-Identifier: MIT
// A network in evaluation as a list of primitives: convolutions, products, activations and the
// like. Made by job/primitives/primitives.hpp. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace gangway {

using Shape = std::vector<std::int64_t>;

[[nodiscard]] inline std::int64_t num_elements(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

enum class Operation {
  // Of two tensors, which are broadcast.
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kMatrixProduct,  ///< over the last two axes
  // Of one tensor, element by element.
  kRelu,
  kLeakyRelu,  ///< `number`: slope below zero
  kSigmoid,
  kSoftplus,
  kTanh,
  kRoot,  ///< square root of the element + `number`
  // Of maps [N, C, H, W], with `window`. Inputs of convolutions: maps, weight, optionally bias.
  kConvolution,            ///< weight [out, in / groups, k, k]
  kTransposedConvolution,  ///< weight [in, out / groups, k, k]
  kAveragePooling,
  kMaximumPooling,
  kRepetition,  ///< of each pixel, `window.stride` times along both sides
  kReflection,  ///< `window.padding` mirrored pixels at each border, without the edge itself
  /// Each map of each example to mean 0 and variance 1, then a gain [C] and a shift [C]: the second
  /// and third input. `number` is added to variances.
  kInstanceNorm,
  /// One map [N, 1, H, W]: the features' deviation over a group of examples, averaged. The group is
  /// the largest divisor of N up to `window.groups`, or all of N if that is 0. Example i is in
  /// group i modulo their number. `number` is added to variances.
  kGroupDeviation,
  // Of any tensor, along `axes`.
  kMean,  ///< keeps the axes, with size 1
  kSum,   ///< same
  kSoftmax,
  kConcatenation,
  kSlice,          ///< elements [begin, end) of the axis
  kZerosInFront,   ///< `begin` zeros before the axis
  kTransposition,  ///< `axes`: all axes in their new order
  kReshape,        ///< `axes`: the new shape behind the batch
  kLookup,         ///< rows of the first input, by the labels of the second
};

/// Extent of an operation on maps, in pixels; square.
struct Window {
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t output_padding = 0;  ///< if transposed: rows and columns added at the end
  std::int64_t groups = 1;
};

struct Primitive {
  Operation operation = Operation::kAdd;
  std::vector<std::size_t> inputs;  ///< indices of PrimitiveGraph::tensors
  std::size_t output = 0;           ///< same
  std::size_t block = 0;            ///< of the network
  Window window = {};
  Shape axes = {};
  std::int64_t begin = 0;
  std::int64_t end = 0;
  double number = 0.0;
};

struct GraphTensor {
  std::string name = {};  ///< of an input ("noise"), of a weight ("0.weight"); empty: none
  Shape shape = {};       ///< for a batch of one example; maps have the model's own resolution
  bool is_constant = false;
  std::vector<float> values = {};  ///< of a constant, row-major; empty if the graph has only shapes
};

struct PrimitiveGraph {
  std::vector<GraphTensor> tensors;
  std::vector<Primitive> primitives;  ///< in an order of computation
  std::vector<std::size_t> inputs;    ///< "labels" is int64 [N], the others float32
  std::vector<std::size_t> outputs;
};

/// Name of the noise [1, 1, side, side] that a StyleLayerSpec adds in evaluation.
inline constexpr const char* kConstantNoise = "constant_noise";

/// Returns the values of a block's trained tensor, running statistic, or kConstantNoise, row-major.
using TensorValues = std::function<std::vector<float>(std::size_t block, const std::string& name,
                                                      const Shape& shape)>;

}  // namespace gangway
