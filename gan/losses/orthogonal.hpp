// SPDX-License-Identifier: MIT
// Orthogonal regularisation (Brock et al., 2017; BigGAN, Brock et al., 2019, eq. 3): a loss on
// weights alone, which keeps the rows of maps at right angles. Called on the compute thread, once
// an update.
#pragma once

#include <cstddef>
#include <functional>

#include "gan/network.hpp"

namespace gangway::gan {

/// Adds to the gradients of `network` that of weight * sum over its maps W of |(W W^T) * (1 - I)|^2
/// (entry by entry), where a row of W is all that makes one output: 4 weight ((W W^T) * (1 - I)) W.
/// Of a transposed convolution a row is what one input gives. What is no map (`is_map`) is left
/// out, embeddings as in the authors' code, whose factor is 2.
/// @param is_held  of a parameter, by its place: whether the network's values are here; empty: all
void add_orthogonal_gradient(Network& network, double weight,
                             const std::function<bool(std::size_t)>& is_held = {});

}  // namespace gangway::gan
