// SPDX-License-Identifier: MIT
// The blocks of networks that make pictures of pictures (gan/blocks/translation_blocks.hpp) as
// lines of TorchScript. Used by script_of. Main thread.
#pragma once

#include <string>

#include "gan/block.hpp"

namespace gangway::launch {

/// Lines that replace `x`, and may take tensors that earlier blocks have left under their names;
/// empty for other blocks. @param self  the block's submodule
[[nodiscard]] std::string lines_of_translation(const gan::Block& block, const std::string& self);

}  // namespace gangway::launch
