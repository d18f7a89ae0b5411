// SPDX-License-Identifier: MIT
// Units of bytes for display.
#pragma once

namespace gangway {

inline constexpr double kMebibyte = 1024.0 * 1024.0;
inline constexpr double kGibibyte = 1024.0 * kMebibyte;

}  // namespace gangway
