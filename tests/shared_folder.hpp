// SPDX-License-Identifier: MIT
// A folder of one test in the memory that processes share: nothing in it is another's.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "job/shared_segment.hpp"

namespace gangway::testing {

class SharedFolder {
 public:
  SharedFolder() {
    std::string name =
        (std::filesystem::path(kSharedMemoryFolder) / "gangway-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error("no folder can be made in shared memory");
    }
    path_ = name;
  }
  ~SharedFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }
  /// A file as a killed process leaves it: nobody holds it.
  void leave_behind(const std::string& name) const { std::ofstream(path_ / name) << "left"; }

 private:
  std::filesystem::path path_;
};

}  // namespace gangway::testing
