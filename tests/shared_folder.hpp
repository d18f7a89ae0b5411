// SPDX-License-Identifier: MIT
// A folder of one test in shared memory. No other test or process uses it.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/shared_segment.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::testing {

class SharedFolder {
 public:
  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path())) {
      names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }
  /// Leaves a file as a killed process does: no process holds its lock.
  void leave_behind(const std::string& name) const { (void)folder_.write(name, "left"); }

 private:
  ScratchFolder folder_{kSharedMemoryFolder};
};

}  // namespace gangway::testing
