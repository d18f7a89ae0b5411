// SPDX-License-Identifier: MIT
// Orthogonal regularisation (Brock et al., 2017; BigGAN, Brock et al., 2019, eq. 3): a loss on
// weights only that keeps the rows of maps orthogonal. Called on the compute thread, once an
// update.
#pragma once

#include <cstddef>
#include <functional>

#include "gan/network.hpp"

namespace gangway::gan {

/// Adds the gradient of weight * sum over maps W of |(W W^T) * (1 - I)|^2 (element-wise products)
/// to `network`: 4 weight ((W W^T) * (1 - I)) W. A row of W makes one output; in a transposed
/// convolution it belongs to one input. Skips parameters that are no maps (`is_map`), embeddings
/// too, as in the authors' code, whose factor is 2.
/// @param is_held  whether this worker holds the parameter of that index; empty: all
void add_orthogonal_gradient(Network& network, double weight,
                             const std::function<bool(std::size_t)>& is_held = {});

}  // namespace gangway::gan
