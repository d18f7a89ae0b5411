// SPDX-License-Identifier: MIT
#pragma once

namespace gangway::gan {

/// Lets MKL choose the kernels of exp, tanh and the other functions that ATen/cpu/vml.h sends to
/// it. Call this before a second thread computes.
///
/// MKL 2024.2 chooses at a function's first call. If two threads make that call at once, one of
/// them may compute with a kernel of half the digits (github.com/pytorch/pytorch/issues/188792).
void choose_vector_kernels();

}  // namespace gangway::gan
