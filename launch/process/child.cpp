// SPDX-License-Identifier: MIT
#include "launch/process/child.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/errors.hpp"

namespace gangway::launch {
namespace {

constexpr int kNotFound = 127;
constexpr int kEndedBySignal = 128;

[[noreturn]] void become_command(const std::vector<std::string>& words) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  (void)std::signal(SIGINT, SIG_DFL);
  std::vector<char*> arguments;
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));  // execvp does not write
  }
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
  ::_exit(kNotFound);
}

}  // namespace

int run_child(const std::vector<std::string>& words) {
  const auto interrupt = std::signal(SIGINT, SIG_IGN);
  const pid_t child = ::fork();
  if (child < 0) {
    throw EnvironmentError(fmt::format("{} cannot be started: {}: raise ulimit -u", words.front(),
                                       std::strerror(errno)));
  }
  if (child == 0) {
    become_command(words);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  (void)std::signal(SIGINT, interrupt);
  if (WIFSIGNALED(status)) {
    return kEndedBySignal + WTERMSIG(status);
  }
  if (WEXITSTATUS(status) == kNotFound) {
    throw EnvironmentError(
        fmt::format("{} was not found: install it (./launch/setup does), or put it on the PATH",
                    words.front()));
  }
  return WEXITSTATUS(status);
}

}  // namespace gangway::launch
