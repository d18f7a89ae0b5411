// SPDX-License-Identifier: MIT
// Libraries of LibTorch (convolutions, products) load parts of themselves at their first call,
// which may wait for all that is on the device: to be over before anything stands there for a peer.
#pragma once

#include "gan/torch.hpp"

namespace gangway::gan {

/// Has small convolutions and products carried out on `device`, with their first and second
/// derivatives, and leaves nothing. Compute thread.
void call_libraries_once(at::Device device);

}  // namespace gangway::gan
