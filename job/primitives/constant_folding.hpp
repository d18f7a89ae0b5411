// SPDX-License-Identifier: MIT
// Computes the shapes of primitives, and their values if all inputs are constants. Called by
// GraphBuilder. Pure.
#pragma once

#include <vector>

#include "job/primitives/primitive_graph.hpp"

namespace gangway::primitives {

using Inputs = std::vector<const GraphTensor*>;

/// Returns the shape of the primitive's output. @throws InvariantError if its inputs do not fit
[[nodiscard]] Shape shape_of(const Primitive& primitive, const Inputs& inputs);

/// Returns the side of a primitive's output; 0 if its input maps are too small.
/// @param side  of its input maps
[[nodiscard]] std::int64_t side_after(const Primitive& primitive, std::int64_t side);

/// Returns whether folded() can compute the operation.
[[nodiscard]] bool can_fold(Operation operation);

/// Computes the output's values; empty if an input has unknown values.
/// @param shape  of the output
[[nodiscard]] std::vector<float> folded(const Primitive& primitive, const Inputs& inputs,
                                        const Shape& shape);

}  // namespace gangway::primitives
