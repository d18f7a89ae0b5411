// SPDX-License-Identifier: MIT
// What tests ask of the stand-in for LibTorch's CUDA side.
#pragma once

#include <cuda_runtime_api.h>

namespace gangway::fake {

/// Of this thread.
[[nodiscard]] cudaStream_t computed_on();

/// From now on, or no longer, each call of one of LibTorch's operators waits for all that is on its
/// worker's device, as it may where kernels are loaded and memory grows.
void wait_in_calls(bool does);

/// From now on so many requests for a device's memory have failed.
void fail_requests(int count);

}  // namespace gangway::fake
