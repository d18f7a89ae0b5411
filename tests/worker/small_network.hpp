// SPDX-License-Identifier: MIT
// A network of some thousand elements with every kind of tensor. Any thread.
#pragma once

#include <string>

#include "comm/arena/arena.hpp"
#include "gan/network.hpp"

namespace gangway::worker {

/// Makes and initialises "image" [N, 3, 8, 8] → convolution to `channels` with BatchNorm → dense
/// layer with bias to [N, 1].
[[nodiscard]] gan::Network small_network(const std::string& name, std::int64_t channels = 20);

/// Returns whether two arenas hold the same bits.
[[nodiscard]] bool same_bits(const comm::Arena& left, const comm::Arena& right);

}  // namespace gangway::worker
