// SPDX-License-Identifier: MIT
// Identifies the build of a program, so that programs of one job can compare theirs. Any thread.
#pragma once

#include <string_view>

namespace gangway {

/// Returns 16 hexadecimal digits, equal in all programs of one build: a hash of sources, compiler
/// and options. A program that links gangway_build_id is linked again after each source change.
[[nodiscard]] std::string_view build_id();

}  // namespace gangway
