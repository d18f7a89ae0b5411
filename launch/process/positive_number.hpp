// SPDX-License-Identifier: MIT
// Validates options that take a number above zero.
#pragma once

#include <cmath>
#include <string>

#include <CLI/CLI.hpp>

namespace gangway::launch {

inline const CLI::Validator kPositiveNumber(
    [](std::string& text) {
      double number = 0.0;
      return CLI::detail::lexical_cast(text, number) && number > 0.0 && std::isfinite(number)
                 ? std::string()
                 : "'" + text + "' is no number above 0";
    },
    "POSITIVE");

}  // namespace gangway::launch
