// SPDX-License-Identifier: MIT
#include "launch/run/job_end.hpp"

#include <algorithm>
#include <csignal>
#include <string_view>
#include <vector>

#include <poll.h>
#include <sys/wait.h>

#include "base/process_identity.hpp"
#include "launch/process/process_tree.hpp"

namespace gangway::launch {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Ranks leave within milliseconds of the order, unless they are stopped or still loading.
constexpr milliseconds kRanksLeave{500};
// mpirun ends with its last rank; ranks on other hosts may save snapshots first.
constexpr milliseconds kMpirunFollows{300};
constexpr milliseconds kOthersSave{3'000};
constexpr milliseconds kMpirunCleans{700};
constexpr milliseconds kMpirunIsKilled{5'000};  // later it hangs in the kernel: a disk, a device
// For processes that an ended mpirun left.
constexpr milliseconds kRestLeaves{500};
constexpr milliseconds kRestIsKilled{10'000};
constexpr milliseconds kNap{20};
constexpr std::string_view kMpirun = "mpirun";  // not killed here: it gets SIGTERM first

milliseconds patience_with_mpirun(const TetherServer& tethers, PendingSaves pending_saves) {
  const auto& present = tethers.present();
  if (present.empty()) {
    return milliseconds(0);
  }
  const bool is_one_host = std::all_of(present.begin(), present.end(),
                                       [](const auto& entry) { return entry.second.is_local; });
  return is_one_host || pending_saves == PendingSaves::kNone ? kMpirunFollows : kOthersSave;
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

JobEnd::JobEnd(TetherServer& tethers, pid_t mpirun, PendingSaves pending_saves, TimePoint now)
    : tethers_(tethers),
      mpirun_(mpirun),
      since_(now),
      grace_period_(patience_with_mpirun(tethers, pending_saves)) {
  tethers_.order_end();
  kill_stopped_ranks();
  ::kill(mpirun_, SIGCONT);  // a stopped mpirun could not follow its ranks
}

JobEnd::Next JobEnd::push(TimePoint now) {
  if (now - since_ >= kRanksLeave) {
    kill_local_ranks();
  }
  if (!asked_ && now >= asking_time(now)) {
    asked_ = now;
    ::kill(mpirun_, SIGTERM);
  }
  if (asked_ && now - *asked_ >= kMpirunCleans) {
    kill_all(descendants());
  }
  return asked_ && now - *asked_ >= kMpirunIsKilled ? Next::kGiveUp : Next::kWait;
}

JobEnd::TimePoint JobEnd::asking_time(TimePoint now) {
  if (tethers_.present().empty()) {
    empty_since_ = empty_since_.value_or(now);
    return std::min(since_ + grace_period_, *empty_since_ + kRanksLeave);
  }
  return since_ + grace_period_;
}

void JobEnd::kill_local_ranks() {
  for (const auto& [number, rank] : tethers_.present()) {
    if (rank.is_local) {
      (void)kill_process(rank.said.process);
    }
  }
}

void kill_stopped_ranks() {
  for (const Descendant& process : descendants()) {
    if (process.state == 'T' && process.program != kMpirun) {
      ::kill(process.pid, SIGKILL);
    }
  }
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
