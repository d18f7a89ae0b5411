// SPDX-License-Identifier: MIT
#include "launch/process/launcher_guard.hpp"

#include <array>
#include <chrono>
#include <csignal>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "run/tether.hpp"

namespace gangway::launch {
namespace {

// mpirun ends within this time after its ranks.
constexpr std::chrono::milliseconds kLimit = kOrphanLimit + std::chrono::milliseconds(700);
constexpr std::chrono::milliseconds kGuardNap{50};

/// Runs the guard. It closes the supervisor's descriptors: open sockets would look alive.
[[noreturn]] void guard(pid_t mpirun, int supervisor) {
  constexpr int kOnly = 0;
  ::setpgid(0, 0);  // detaches from the terminal's signals
  ::dup2(supervisor, kOnly);
  (void)::close_range(kOnly + 1, ~0U, 0);
  char byte = 0;
  while (::read(kOnly, &byte, 1) < 0) {  // blocks until the supervisor ends
  }
  for (auto left = kLimit; left.count() > 0; left -= kGuardNap) {
    if (::kill(mpirun, 0) != 0) {
      ::_exit(0);
    }
    (void)::poll(nullptr, 0, static_cast<int>(kGuardNap.count()));
  }
  ::kill(mpirun, SIGKILL);
  ::_exit(0);
}

}  // namespace

FileDescriptor guard_launcher(pid_t mpirun) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return {};
  }
  const FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  if (::fork() == 0) {
    guard(mpirun, read_end.get());
  }
  return write_end;
}

}  // namespace gangway::launch
