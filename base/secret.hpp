// SPDX-License-Identifier: MIT
// The tokens by which processes of a job know one another. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace gangway {

/// 256 bits of the kernel's random source, in hexadecimal. @throws EnvironmentError without any.
[[nodiscard]] std::string new_secret();

/// Takes as long wherever the two begin to differ: how much of a guess was right stays unknown.
[[nodiscard]] bool is_same_secret(std::string_view a, std::string_view b);

}  // namespace gangway
