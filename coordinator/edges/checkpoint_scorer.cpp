// SPDX-License-Identifier: MIT
#include "coordinator/edges/checkpoint_scorer.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gangway::coordinator {
namespace {

constexpr int kLowestPriority = 19;
constexpr int kNotStarted = 127;

/// Between fork and exec of a process with threads: nothing here may allocate.
[[noreturn]] void become(char* const* words, int error_output) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)::setpriority(PRIO_PROCESS, 0, kLowestPriority);
  sigset_t none;
  (void)::sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
  (void)::setpgid(0, 0);  // Ctrl-C is the coordinator's to answer
  const int nowhere = ::open("/dev/null", O_RDWR);
  (void)::dup2(nowhere, STDIN_FILENO);
  (void)::dup2(nowhere, STDOUT_FILENO);
  (void)::dup2(error_output, STDERR_FILENO);
  // An inherited lifeline would stay open when this process lets go of it.
  (void)::close_range(STDERR_FILENO + 1, ~0U, 0);
  ::execv(words[0], words);
  ::_exit(kNotStarted);
}

/// The last line of what was written into `file`.
std::string last_line(const FileDescriptor& file) {
  std::array<char, 2048> text{};
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  const off_t begin =
      size > static_cast<off_t>(text.size()) ? size - static_cast<off_t>(text.size()) : 0;
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), begin);
  std::string line(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  line.erase(line.find_last_not_of("\n ") + 1);
  return line.substr(line.rfind('\n') + 1);
}

std::string failure_of(int status, const FileDescriptor& words) {
  if (WIFSIGNALED(status)) {
    return fmt::format("gangway-model was ended by signal {}", WTERMSIG(status));
  }
  if (WEXITSTATUS(status) == 0) {
    return {};
  }
  if (WEXITSTATUS(status) == kNotStarted) {
    return "gangway-model cannot be started: build all programs (./launch/build)";
  }
  const std::string line = last_line(words);
  return !line.empty() ? line
                       : fmt::format("gangway-model ended with exit code {}", WEXITSTATUS(status));
}

}  // namespace

CheckpointScorer::CheckpointScorer(ScorerSettings settings) : settings_(std::move(settings)) {}

CheckpointScorer::~CheckpointScorer() { end_child(); }

void CheckpointScorer::end_child() {
  if (child_ > 0) {
    (void)::kill(child_, SIGKILL);
    killed_.push_back(child_);  // a dead disk may hold it: nobody waits for that
  }
}

std::optional<std::int64_t> CheckpointScorer::want(std::int64_t step) {
  return std::exchange(waiting_, step);
}

std::set<std::int64_t> CheckpointScorer::steps() const {
  std::set<std::int64_t> steps;
  if (child_ > 0) {
    steps.insert(step_);
  }
  if (waiting_) {
    steps.insert(*waiting_);
  }
  return steps;
}

std::optional<ScoringEnd> CheckpointScorer::poll(Time now) {
  std::erase_if(killed_, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
  if (child_ > 0) {
    int status = 0;
    if (::waitpid(child_, &status, WNOHANG) == child_) {
      return ended(failure_of(status, words_));
    }
    if (now >= deadline_) {
      end_child();
      return ended(fmt::format("it took more than {} s", settings_.limit.count()));
    }
    return std::nullopt;
  }
  if (const auto step = std::exchange(waiting_, std::nullopt)) {
    if (std::string error = start(*step, now); !error.empty()) {
      return ended(std::move(error));
    }
  }
  return std::nullopt;
}

ScoringEnd CheckpointScorer::ended(std::string error) {
  child_ = 0;
  words_ = FileDescriptor();
  return {.step = step_, .error = std::move(error)};
}

std::string CheckpointScorer::start(std::int64_t step, Time now) {
  step_ = step;
  words_ = FileDescriptor(::memfd_create("gangway-model", MFD_CLOEXEC));
  std::vector<std::string> words{settings_.program.string(),
                                 "evaluate",
                                 settings_.run_directory.string(),
                                 "--step",
                                 std::to_string(step),
                                 "--threads",
                                 "1",
                                 settings_.where == ScorePlace::kSpare ? "--await" : "--record"};
  if (settings_.where == ScorePlace::kDevice) {
    words.insert(words.end(), {"--device", "cuda"});
  }
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    become(arguments.data(), words_.get());
  }
  if (child < 0) {
    return fmt::format("gangway-model cannot be started: {}", std::strerror(errno));
  }
  child_ = child;
  deadline_ = now + settings_.limit;
  return {};
}

}  // namespace gangway::coordinator
