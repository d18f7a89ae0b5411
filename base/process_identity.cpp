// SPDX-License-Identifier: MIT
#include "base/process_identity.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/file_descriptor.hpp"
#include "base/shared_segment.hpp"

namespace gangway {
namespace {

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::uint64_t start_ticks_of(std::int64_t pid) {
  const std::string line = first_line(fmt::format("/proc/{}/stat", pid));
  // Field 2, the program's name, may have blanks and parentheses: count from the last ')'.
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) {
    return 0;
  }
  std::istringstream fields(line.substr(name_end + 1));
  char state = 0;  // field 3
  fields >> state;
  if (state == 'Z' || state == 'X') {
    return 0;
  }
  constexpr int kFieldsBetween = 18;  // fields 4 to 21
  std::string skipped;
  for (int i = 0; i < kFieldsBetween; ++i) {
    fields >> skipped;
  }
  std::uint64_t ticks = 0;
  fields >> ticks;
  return ticks;
}

ProcessIdentity own_process() {
  std::error_code ignored;
  return {.boot_id = first_line("/proc/sys/kernel/random/boot_id"),
          .pid_namespace = std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string(),
          .pid = ::getpid(),
          .start_ticks = start_ticks_of(::getpid())};
}

bool kill_process(const ProcessIdentity& process) {
  const ProcessIdentity self = own_process();
  if (process.pid <= 0 || process.start_ticks == 0 || process.boot_id != self.boot_id ||
      process.pid_namespace != self.pid_namespace) {
    return false;
  }
  // Open a pidfd before the comparison: from here on the pid cannot mean another process.
  // By syscall, because glibc has these functions only since 2.36.
  const FileDescriptor held(
      static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(process.pid), 0)));
  return held && start_ticks_of(process.pid) == process.start_ticks &&
         ::syscall(SYS_pidfd_send_signal, held.get(), SIGKILL, nullptr, 0) == 0;
}

std::uint64_t shared_memory_identity() {
  std::string identity = first_line("/proc/sys/kernel/random/boot_id") + "\n";
  struct stat status {};
  if (::stat(kSharedMemoryFolder, &status) == 0) {
    identity += std::to_string(status.st_dev);
  }
  return XXH3_64bits(identity.data(), identity.size());
}

}  // namespace gangway
