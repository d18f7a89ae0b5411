// SPDX-License-Identifier: MIT
#include "launch/mpirun/launcher_guard.hpp"

#include <array>
#include <chrono>
#include <csignal>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "launch/mpirun/session_folder.hpp"
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
  const auto nap = [] { (void)::poll(nullptr, 0, static_cast<int>(kGuardNap.count())); };
  auto left = kLimit;
  for (; left.count() > 0 && ::kill(mpirun, 0) == 0; left -= kGuardNap) {
    nap();
  }
  if (left.count() <= 0) {
    ::kill(mpirun, SIGKILL);
    nap();
  }
  remove_session_of(mpirun);
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
