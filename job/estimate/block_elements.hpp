// SPDX-License-Identifier: MIT
// What blocks of a network make inside, as far as their values tell. Pure.
#pragma once

#include <cstdint>

#include "job/models/architecture.hpp"

namespace gangway {

/// Elements of one example's maps that are not kept until backward where layout.recompute goes
/// block by block: what transformers have inside, but for one layer, the largest, which is open at
/// a time. 0 of other blocks, whose maps nearly all flow from one to the next.
[[nodiscard]] std::int64_t elements_made_again(const Architecture& network);

}  // namespace gangway
