// SPDX-License-Identifier: MIT
#include "launch/mpirun/session_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/this_host.hpp"
#include "launch/process/temporary_folder.hpp"

namespace gangway::launch {

namespace {

constexpr std::string_view kEntry = "gangway-";  // first letters of a held entry

std::filesystem::path temporary_folder() {
  std::filesystem::path folder = "/tmp";
  for (const char* variable : {"TMP", "TEMP", "TMPDIR"}) {  // the last set variable wins
    if (const char* value = std::getenv(variable); value != nullptr && *value != '\0') {
      folder = value;
    }
  }
  return folder;
}

std::string short_host_name() {
  const std::string host = host_name();
  return host.substr(0, host.find('.'));
}

/// Removes the entries of killed runs, which hold no lock any more.
void remove_left_entries(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(folder, ignored), end; entry != end;
       entry.increment(ignored)) {
    if (entry->path().filename().string().starts_with(kEntry) && hold_folder(entry->path())) {
      (void)::rmdir(entry->path().c_str());
    }
  }
}

}  // namespace

std::filesystem::path session_folder() {
  return temporary_folder() / fmt::format("ompi.{}.{}", short_host_name(), ::geteuid());
}

void remove_session_of(pid_t launcher) {
  const std::filesystem::path parent = temporary_folder();
  std::error_code ignored;
  for (const std::filesystem::path& folder :
       {session_folder() / fmt::format("pid.{}", launcher),  // 4.1.4
        parent /
            fmt::format("prterun.{}.{}.{}", short_host_name(), launcher, ::geteuid()),  // 5.0.7
        parent / fmt::format("ompi.{}", launcher)}) {                                   // 5.0.11
    std::filesystem::remove_all(folder, ignored);
  }
  (void)::rmdir(session_folder().c_str());  // fails if another job has files in it
}

HeldSessionFolder::HeldSessionFolder(std::filesystem::path folder) : folder_(std::move(folder)) {
  remove_left_entries(folder_);
  constexpr int kAttempts = 100;  // another run may remove folder or entry between the calls
  std::error_code ignored;
  for (int attempt = 0; attempt < kAttempts && !std::filesystem::exists(held_, ignored);
       ++attempt) {
    (void)::mkdir(folder_.c_str(), S_IRWXU);
    std::string name = (folder_ / (std::string(kEntry) + "XXXXXX")).string();
    if (::mkdtemp(name.data()) != nullptr) {
      held_ = name;
      lock_ = hold_folder(held_);
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
