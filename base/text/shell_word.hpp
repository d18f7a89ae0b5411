// SPDX-License-Identifier: MIT
// Quotes words of a command for a shell. Pure.
#pragma once

#include <string>

namespace gangway {

/// Returns `word` as a shell reads it back, quoted only if needed.
[[nodiscard]] std::string shell_word(const std::string& word);

}  // namespace gangway
