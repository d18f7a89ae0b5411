// SPDX-License-Identifier: MIT
// Type of a function that receives warnings about checkpoints.
#pragma once

#include <functional>
#include <string>

namespace gangway::checkpoint {

/// Receives a one-line message for the user.
using Warn = std::function<void(std::string)>;

}  // namespace gangway::checkpoint
