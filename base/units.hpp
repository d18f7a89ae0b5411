// SPDX-License-Identifier: MIT
// Bytes as people read them.
#pragma once

namespace gangway {

inline constexpr double kMebibyte = 1024.0 * 1024.0;
inline constexpr double kGibibyte = 1024.0 * kMebibyte;

}  // namespace gangway
