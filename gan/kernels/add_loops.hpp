// SPDX-License-Identifier: MIT
// Adds up gradients on the CPU. Any thread. No LibTorch but its bfloat16 type.
#pragma once

#include <cstdint>

#include <c10/util/BFloat16.h>

namespace gangway::gan {

/// Computes sum[i] += addend[i] in float32.
void add_to(float* sum, const c10::BFloat16* addend, std::int64_t elements);

}  // namespace gangway::gan
