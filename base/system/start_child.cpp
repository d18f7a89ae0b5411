// SPDX-License-Identifier: MIT
#include "base/system/start_child.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace gangway {

pid_t start_child(const ChildStart& start) {
  // Built before fork: in a process with threads, nothing may allocate between fork and exec.
  std::vector<char*> arguments;
  for (const std::string& word : start.words) {
    arguments.push_back(const_cast<char*>(word.c_str()));  // execvp does not write
  }
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) {
    return child;
  }
  (void)::prctl(PR_SET_PDEATHSIG, start.signal_of_orphans);
  if (::getppid() != parent) {
    ::_exit(kProgramNotFound);  // the parent had ended before prctl
  }
  if (start.niceness != 0) {
    (void)::nice(start.niceness);
  }
  if (!start.shares_terminal) {
    (void)::setpgid(0, 0);
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)::dup2(nothing, STDIN_FILENO);  // reading the terminal would stop the whole group
  }
  (void)::dup2(start.output, STDOUT_FILENO);
  (void)::dup2(start.errors, STDERR_FILENO);
  if (!start.keeps_descriptors) {
    (void)::close_range(STDERR_FILENO + 1, ~0U, 0);
  }
  if (start.signals != nullptr) {
    (void)::sigprocmask(SIG_SETMASK, start.signals, nullptr);
  }
  ::execvp(arguments.front(), arguments.data());
  ::_exit(kProgramNotFound);
}

}  // namespace gangway
