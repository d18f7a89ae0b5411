// SPDX-License-Identifier: MIT
#include "coordinator/io/checkpoint_scorer.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/start_child.hpp"

namespace gangway::coordinator {
namespace {

constexpr int kNiceness = 19;  // all other processes have priority

/// Returns the last line of `file`.
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
  if (WEXITSTATUS(status) == kProgramNotFound) {
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
    killed_.push_back(child_);  // never waits: a dead disk may block the child's exit
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
  sigset_t none;
  (void)::sigemptyset(&none);
  const FileDescriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  const pid_t child = start_child({.words = std::move(words),
                                   .output = nowhere.get(),
                                   .errors = words_.get(),
                                   .signal_of_orphans = SIGKILL,
                                   .signals = &none,
                                   .niceness = kNiceness,
                                   .keeps_descriptors = false});  // lifelines must not stay open
  if (child < 0) {
    return fmt::format("gangway-model cannot be started: {}", std::strerror(errno));
  }
  child_ = child;
  deadline_ = now + settings_.limit;
  return {};
}

}  // namespace gangway::coordinator
