// SPDX-License-Identifier: MIT
// The receiver of warnings about checkpoints.
#pragma once

#include <functional>
#include <string>

namespace gangway::checkpoint {

/// Receives one line for a person.
using Warn = std::function<void(std::string)>;

}  // namespace gangway::checkpoint
