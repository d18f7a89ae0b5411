// SPDX-License-Identifier: MIT
// Who is told of what is not as it should be.
#pragma once

#include <functional>
#include <string>

namespace gangway::checkpoint {

/// Receives one line for a person.
using Warn = std::function<void(std::string)>;

}  // namespace gangway::checkpoint
