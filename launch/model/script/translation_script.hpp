// SPDX-License-Identifier: MIT
// TorchScript of the blocks of picture-to-picture networks (gan/blocks/translation_blocks.hpp).
// Called by script_of. Main thread.
#pragma once

#include <string>

#include "gan/block.hpp"

namespace gangway::launch {

/// Returns lines that replace `x`; they may read tensors that earlier blocks stored by name.
/// Empty for other blocks. @param self  the block's submodule
[[nodiscard]] std::string lines_of_translation(const gan::Block& block, const std::string& self);

}  // namespace gangway::launch
