// SPDX-License-Identifier: MIT
// A rule between keys, as a value. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "job/spec.hpp"

namespace gangway {

struct Rule {
  std::vector<std::string>
      keys;               ///< that the rule is about; blames the first if the user gave none
  std::string statement;  ///< for the reference page
  std::function<std::string(const JobSpec&)>
      complaint;  ///< the error and its remedy; empty if the rule holds
  /// Of `keys`, those that only detail a choice. If a later place (environment, command line) makes
  /// another choice, they are left out with it.
  std::vector<std::string> companions = {};
};

}  // namespace gangway
