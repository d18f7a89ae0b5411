// SPDX-License-Identifier: MIT
// Makes and compares the tokens by which processes of a job authenticate. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace gangway {

/// Returns 256 random bits from the kernel, in hexadecimal. @throws EnvironmentError if it has none
[[nodiscard]] std::string new_secret();

/// Compares in constant time, so that the duration does not tell how much of a guess was right.
[[nodiscard]] bool is_same_secret(std::string_view a, std::string_view b);

}  // namespace gangway
