// SPDX-License-Identifier: MIT
// What tests ask of the stand-in for LibTorch's CUDA side.
#pragma once

namespace gangway::fake {

/// From now on, or no longer, the first call of each of LibTorch's operators by a worker waits for
/// all that is on the worker's device, as the loading of a kernel may.
void load_at_first_call(bool does);

/// From now on so many requests for a device's memory have failed.
void fail_requests(int count);

}  // namespace gangway::fake
