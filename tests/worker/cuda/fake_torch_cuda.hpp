// SPDX-License-Identifier: MIT
// Controls of the stand-in for LibTorch's CUDA side.
#pragma once

#include <cuda_runtime_api.h>

namespace gangway::fake {

/// Returns the stream on which this thread computes.
[[nodiscard]] cudaStream_t computed_on();

/// Sets whether each LibTorch operator waits for all work on its worker's device, as it may when it
/// loads kernels or allocates memory.
void wait_in_calls(bool does);

/// Sets the number of failed requests for a device's memory.
void fail_requests(int count);

}  // namespace gangway::fake
