// SPDX-License-Identifier: MIT
// Makes a PrimitiveGraph by arithmetic on tensors, as LibTorch code is written. Computes
// results of constants at once. Used by the blocks' lowerings (job/primitives/). Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "job/blocks/layer_spec.hpp"
#include "job/primitives/primitive_graph.hpp"

namespace gangway::primitives {

class GraphBuilder;

/// A tensor of a graph in the making.
class Tensor {
 public:
  Tensor(GraphBuilder& builder, std::size_t index) : builder_(&builder), index_(index) {}
  [[nodiscard]] std::size_t index() const { return index_; }
  [[nodiscard]] GraphBuilder& builder() const { return *builder_; }
  [[nodiscard]] const Shape& shape() const;
  /// Returns the size along `axis`.
  [[nodiscard]] std::int64_t size(std::size_t axis) const { return shape().at(axis); }

 private:
  GraphBuilder* builder_;
  std::size_t index_;
};

class GraphBuilder {
 public:
  [[nodiscard]] Tensor input(std::string name, Shape shape);
  /// @param values  empty: unknown
  [[nodiscard]] Tensor constant(Shape shape, std::vector<float> values, std::string name = {});
  [[nodiscard]] Tensor scalar(double value);
  /// Appends a primitive of known inputs. @return its output
  [[nodiscard]] Tensor append(Primitive primitive);
  [[nodiscard]] const GraphTensor& at(const Tensor& tensor) const {
    return graph_.tensors[tensor.index()];
  }
  /// Sets the block that the next primitives belong to.
  void begin_block(std::size_t block) { block_ = block; }
  /// Returns the graph; constants that no primitive takes lose their values.
  [[nodiscard]] PrimitiveGraph finish(const std::vector<Tensor>& outputs);

 private:
  PrimitiveGraph graph_;
  std::size_t block_ = 0;
};

[[nodiscard]] Tensor operator+(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor operator-(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor operator*(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor operator/(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor operator+(const Tensor& a, double b);
[[nodiscard]] Tensor operator*(const Tensor& a, double b);

/// Applies an operation of one tensor, element by element.
[[nodiscard]] Tensor applied(Operation operation, const Tensor& x, double number = 0.0);
[[nodiscard]] Tensor activated(const Tensor& x, Activation activation);
[[nodiscard]] Tensor leaky(const Tensor& x);
/// x * sigmoid(x).
[[nodiscard]] Tensor silu(const Tensor& x);

/// Averages or sums along axes, or applies kSoftmax along one.
[[nodiscard]] Tensor along(Operation operation, const Tensor& x, Shape axes);
/// Divides by the root of the mean square along `axis`.
[[nodiscard]] Tensor of_unit_mean_square(const Tensor& x, std::size_t axis, double epsilon);

/// @param axes  the shape behind the batch
[[nodiscard]] Tensor reshaped(const Tensor& x, Shape axes);
/// Gives a constant another shape with as many elements. @param shape  with the first axis
[[nodiscard]] Tensor constant_as(const Tensor& constant, Shape shape);
/// Reshapes [N, channels] to factors of maps.
[[nodiscard]] Tensor as_maps(const Tensor& factors);
[[nodiscard]] Tensor transposed(const Tensor& x, Shape order);
[[nodiscard]] Tensor joined(const std::vector<Tensor>& parts, std::int64_t axis);
[[nodiscard]] Tensor sliced(const Tensor& x, std::int64_t axis, std::int64_t begin,
                            std::int64_t end);
[[nodiscard]] Tensor matrix_product(const Tensor& a, const Tensor& b);
/// Returns the inputs of each output of a map. @param weight  [out, …]
[[nodiscard]] double num_inputs(const Tensor& weight);
/// @param weight  [out, in]. @param bias  [out], or none
[[nodiscard]] Tensor linear(const Tensor& x, const Tensor& weight,
                            const std::optional<Tensor>& bias = std::nullopt);
/// Takes rows of `table` [classes, features] by labels.
[[nodiscard]] Tensor looked_up(const Tensor& table, const Tensor& labels);

/// Convolves; `window.kernel` is the weight's own.
[[nodiscard]] Tensor convolved(const Tensor& x, const Tensor& weight,
                               const std::optional<Tensor>& bias = std::nullopt,
                               Window window = {});
[[nodiscard]] Tensor convolved_transposed(const Tensor& x, const Tensor& weight,
                                          const std::optional<Tensor>& bias, Window window);
/// Applies an operation of maps without weights.
[[nodiscard]] Tensor mapped(Operation operation, const Tensor& x, Window window,
                            double number = 0.0);
/// Repeats each pixel `factor` times along both sides; 1: none.
[[nodiscard]] Tensor repeated(const Tensor& x, std::int64_t factor);
/// Averages squares of `side` pixels; 1: none.
[[nodiscard]] Tensor averaged(const Tensor& x, std::int64_t side);
/// @param gain, shift  [C]; none: 1 and 0
[[nodiscard]] Tensor instance_normalized(const Tensor& x, std::optional<Tensor> gain = std::nullopt,
                                         std::optional<Tensor> shift = std::nullopt);
/// Doubles both sides of maps by the filter [1, 3, 3, 1] / 8, squared.
[[nodiscard]] Tensor upsampled(const Tensor& x);
/// Halves both sides by it.
[[nodiscard]] Tensor downsampled(const Tensor& x);
/// Applies it with stride 1. @param factor  of all maps
[[nodiscard]] Tensor smoothed(const Tensor& x, std::int64_t padding, double factor = 1.0);

}  // namespace gangway::primitives
