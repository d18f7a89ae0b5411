// SPDX-License-Identifier: MIT
// Where lines go that a user's Python prints in gangway-model: to standard error, each marked, so
// that none is taken for an answer or a complaint of the program's own. Any thread.
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
