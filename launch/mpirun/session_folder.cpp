// SPDX-License-Identifier: MIT
#include "launch/mpirun/session_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/this_host.hpp"

namespace gangway::launch {

std::filesystem::path session_folder() {
  std::filesystem::path parent = "/tmp";
  for (const char* variable : {"TMP", "TEMP", "TMPDIR"}) {  // the last set variable wins
    if (const char* value = std::getenv(variable); value != nullptr && *value != '\0') {
      parent = value;
    }
  }
  const std::string host = host_name();
  return parent / fmt::format("ompi.{}.{}", host.substr(0, host.find('.')), ::geteuid());
}

HeldSessionFolder::HeldSessionFolder(std::filesystem::path folder) : folder_(std::move(folder)) {
  constexpr int kAttempts = 100;  // another run may remove the folder between the two calls
  for (int attempt = 0; attempt < kAttempts && held_.empty(); ++attempt) {
    (void)::mkdir(folder_.c_str(), S_IRWXU);
    std::string name = (folder_ / "gangway-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) {
      held_ = name;
    } else if (errno != ENOENT) {
      return;
    }
  }
}

HeldSessionFolder::~HeldSessionFolder() {
  if (!held_.empty()) {
    (void)::rmdir(held_.c_str());
    (void)::rmdir(folder_.c_str());  // fails if another job has files in it
  }
}

}  // namespace gangway::launch
