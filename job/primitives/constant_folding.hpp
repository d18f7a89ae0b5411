// SPDX-License-Identifier: MIT
// Shapes of primitives, and the values of those whose inputs are all constants. Called by
// GraphBuilder. Pure.
#pragma once

#include <vector>

#include "job/primitives/primitive_graph.hpp"

namespace gangway::primitives {

using Inputs = std::vector<const GraphTensor*>;

/// Returns the shape of the primitive's output. @throws InvariantError if its inputs do not fit
[[nodiscard]] Shape shape_of(const Primitive& primitive, const Inputs& inputs);

/// Returns the side of a primitive's output, by that of its maps; 0 if it does not take them.
[[nodiscard]] std::int64_t side_after(const Primitive& primitive, std::int64_t side);

/// Returns whether folded() can compute the operation.
[[nodiscard]] bool can_fold(Operation operation);

/// Computes the output's values; empty if those of an input are unknown.
/// @param shape  of the output
[[nodiscard]] std::vector<float> folded(const Primitive& primitive, const Inputs& inputs,
                                        const Shape& shape);

}  // namespace gangway::primitives
