// SPDX-License-Identifier: MIT
// Quotes words of a command for a shell. Pure.
#pragma once

#include <string>

namespace gangway {

/// As a shell reads it back: in quotes where it needs them.
[[nodiscard]] std::string shell_word(const std::string& word);

}  // namespace gangway
