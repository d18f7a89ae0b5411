// SPDX-License-Identifier: MIT
// How the parts of `gangway profile` say how far they are.
#pragma once

#include <functional>
#include <string>

namespace gangway::launch {

/// Called when so many more of the seconds that were to be measured are over, with what is
/// measured.
using MeasuredSeconds = std::function<void(double seconds, const std::string& what)>;

}  // namespace gangway::launch
