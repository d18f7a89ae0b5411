// SPDX-License-Identifier: MIT
// What must hold between keys, as a value. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "job/spec.hpp"

namespace gangway {

struct Rule {
  std::vector<std::string>
      keys;  ///< that it is about; the first one is blamed where none was given by the user
  std::string statement;  ///< for the reference page
  std::function<std::string(const JobSpec&)>
      complaint;  ///< what is wrong and what to do; empty if it holds
  /// Of `keys`, those that say no more than how a choice is meant: where a later place (the
  /// environment, the command line) chooses otherwise, they go with what they were about.
  std::vector<std::string> companions = {};
};

}  // namespace gangway
