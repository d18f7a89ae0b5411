// SPDX-License-Identifier: MIT
// Prints output lines of a user's Python in gangway-model to standard error, with a mark that tells
// them from the program's own output. Any thread.
#pragma once

#include <functional>
#include <string>

#include <fmt/format.h>

#include "gan/python/python_library.hpp"

namespace gangway::launch {

[[nodiscard]] inline std::function<void(const std::string&)> python_lines() {
  return [](const std::string& line) { fmt::print(stderr, "python  {}\n", line); };
}

}  // namespace gangway::launch
