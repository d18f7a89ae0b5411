// SPDX-License-Identifier: MIT
// Progress callback of the parts of `gangway profile`.
#pragma once

#include <functional>
#include <string>

namespace gangway::launch {

/// Called after `seconds` more of the planned measuring time, with the current measurement.
using MeasuredSeconds = std::function<void(double seconds, const std::string& what)>;

}  // namespace gangway::launch
