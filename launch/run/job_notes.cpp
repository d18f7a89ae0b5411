// SPDX-License-Identifier: MIT
#include "launch/run/job_notes.hpp"

#include <iostream>

namespace gangway::launch {

void tell_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    std::cout << "note   " << note << std::endl;
  }
}

}  // namespace gangway::launch
