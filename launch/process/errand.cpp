// SPDX-License-Identifier: MIT
#include "launch/process/errand.hpp"

#include <array>

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace gangway::launch {

Errand::Errand(const std::vector<std::string>& words, const sigset_t& signals) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return;
  }
  output_ = FileDescriptor(ends[0]);
  const FileDescriptor write_end(ends[1]);
  std::vector<char*> arguments;
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));  // execvp does not write
  }
  arguments.push_back(nullptr);
  process_ = ::fork();
  if (process_ != 0) {
    return;
  }
  ::setpgid(0, 0);  // a Ctrl-C of the terminal reaches only the supervisor
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(write_end.get(), STDOUT_FILENO);
  ::dup2(write_end.get(), STDERR_FILENO);
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  ::execvp(arguments.front(), arguments.data());
  ::_exit(127);
}

std::string Errand::said() const {
  std::string text;
  std::array<char, 4096> bytes{};
  for (ssize_t size = 0; (size = ::read(output_.get(), bytes.data(), bytes.size())) > 0;) {
    text.append(bytes.data(), static_cast<std::size_t>(size));
  }
  return text;
}

}  // namespace gangway::launch
