// SPDX-License-Identifier: MIT
// Which build a program is of. Asked by programs that are about to work together, on any thread.
#pragma once

#include <string_view>

namespace gangway {

/// 16 hexadecimal digits, equal in all programs of one build: a hash of the sources, the compiler
/// and its options. A program that links gangway_build_id is linked again after each source change.
[[nodiscard]] std::string_view build_id();

}  // namespace gangway
