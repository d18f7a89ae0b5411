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
};

}  // namespace gangway
