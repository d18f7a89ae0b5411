// SPDX-License-Identifier: MIT
// Estimates the inner activations of a network's blocks from their values. Pure.
#pragma once

#include <cstdint>

#include "job/models/architecture.hpp"

namespace gangway {

/// Returns the elements per example that layout.recompute recomputes block by block: the inner maps
/// of transformers. The largest layer does not count, because it is open at a time. 0 for other
/// blocks, because nearly all their maps flow from one to the next.
[[nodiscard]] std::int64_t elements_made_again(const Architecture& network);

}  // namespace gangway
