// SPDX-License-Identifier: MIT
#include "launch/job_end.hpp"

#include <algorithm>
#include <csignal>
#include <vector>

#include <poll.h>
#include <sys/wait.h>

#include "launch/process_tree.hpp"

namespace gangway::launch {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A rank that has been told leaves within milliseconds, unless it is stopped or still being loaded.
constexpr milliseconds kRanksLeave{500};
// mpirun ends with its last rank; ranks on other hosts may have something to save first.
constexpr milliseconds kMpirunFollows{1'000};
constexpr milliseconds kOthersSave{3'000};
constexpr milliseconds kMpirunCleans{700};
// Of what is left behind by a mpirun that has ended.
constexpr milliseconds kRestLeaves{500};
constexpr milliseconds kRestIsKilled{10'000};
constexpr milliseconds kNap{20};

milliseconds patience_with_mpirun(const TetherServer& tethers) {
  const auto& present = tethers.present();
  if (present.empty()) {
    return milliseconds(0);
  }
  const bool is_one_host = std::all_of(present.begin(), present.end(),
                                       [](const auto& entry) { return entry.second.is_local; });
  return is_one_host ? kMpirunFollows : kOthersSave;
}

void kill_all(const std::vector<Descendant>& processes) {
  for (const Descendant& process : processes) {
    ::kill(process.pid, SIGKILL);
  }
}

void reap_all() {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

}  // namespace

JobEnd::JobEnd(TetherServer& tethers, pid_t mpirun, TimePoint now)
    : tethers_(tethers), mpirun_(mpirun), since_(now), patience_(patience_with_mpirun(tethers)) {
  tethers_.order_end();
  ::kill(mpirun_, SIGCONT);  // stopped it could not follow its ranks
}

void JobEnd::push(TimePoint now) {
  const auto elapsed = now - since_;
  if (elapsed >= kRanksLeave) {
    kill_local_ranks();
  }
  if (elapsed >= patience_ && !is_asked_) {
    ask_mpirun();
  }
  if (elapsed >= patience_ + kMpirunCleans) {
    kill_all(descendants());
  }
}

void JobEnd::kill_local_ranks() {
  for (const auto& [number, rank] : tethers_.present()) {
    if (rank.is_local) {
      ::kill(static_cast<pid_t>(rank.said.pid), SIGKILL);
    }
  }
}

void JobEnd::ask_mpirun() {
  is_asked_ = true;
  ::kill(mpirun_, SIGTERM);
}

bool end_descendants() {
  const auto begin = steady_clock::now();
  for (;;) {
    reap_all();
    const std::vector<Descendant> left = descendants();
    if (left.empty()) {
      return true;
    }
    const auto elapsed = steady_clock::now() - begin;
    if (elapsed >= kRestLeaves) {
      kill_all(left);
    }
    if (elapsed >= kRestIsKilled) {
      return false;
    }
    (void)::poll(nullptr, 0, static_cast<int>(kNap.count()));
  }
}

}  // namespace gangway::launch
