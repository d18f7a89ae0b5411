// SPDX-License-Identifier: MIT
// Tracks the workers: which of them have said Hello, Ready and Goodbye, whose lifelines are open,
// and which are lost. A pure state machine, driven by RunCore on the event loop's thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "base/process_identity.hpp"
#include "base/time.hpp"
#include "coordinator/resume/equal_arithmetic.hpp"
#include "run/control_protocol.hpp"
#include "run/messages/messages.hpp"

namespace gangway::coordinator {

/// Named in coordinator/core/generation.cpp, for the user.
enum class WorkerState { kExpected, kJoined, kReady, kLeft, kLost };

/// State of a worker's compute thread by its heartbeat: it waits for its lane (perhaps for a peer),
/// it prepares its Ready, or neither.
enum class Pulse { kWorks, kWaits, kBegins };

/// State of one worker.
struct Member {
  Rank rank{};
  std::string host;                 ///< for messages to the user
  ProcessIdentity process;          ///< the process that a kill may target
  std::uint64_t shared_memory = 0;  ///< equal for workers whose /dev/shm is the same
  std::string device;
  messages::Arithmetic arithmetic = {};  ///< reported by its Ready
  WorkerState state = WorkerState::kExpected;
  std::optional<TimePoint> heard;   ///< last heartbeat; nothing: lifeline not connected yet
  Pulse pulse = Pulse::kWorks;      ///< reported by the last heartbeat
  std::optional<int> signal;        ///< number of the signal that ends it, as its lifeline reported
  bool is_cut_off = false;          ///< its host acknowledges no packets
  std::optional<TimePoint> closed;  ///< when the lifeline closed before a Goodbye
};

[[nodiscard]] bool takes_part(const Member& member);
/// Whether a recent heartbeat says that the worker waits; without one it counts as hung.
[[nodiscard]] bool waits(const Member& member, TimePoint now);

/// Why the run has to end, or could not begin.
struct Fault {
  ExitCode code = ExitCode::kWorkerLost;
  Rank rank{};         ///< the worker to blame; 0: none in particular
  std::string reason;  ///< one line: worker, cause, remedy
};

struct MembershipLimits {
  std::chrono::milliseconds start = kStartDeadline;  ///< from the start to the last Ready
  std::chrono::milliseconds heartbeat =
      kHeartbeatDeadline;  ///< silence after which a worker is hung
  /// From a closed lifeline to the verdict: a Stop with the reason may still arrive over MPI.
  std::chrono::milliseconds closing{50};
};

class Membership {
 public:
  /// @param build  the coordinator's build id; every worker's must be equal
  Membership(int num_workers, TimePoint start, const MembershipLimits& limits,
             std::string build = {});

  /// Handles a Hello from `rank`. Returns a fault if the builds differ, or if the rank is unknown
  /// or has said Hello before.
  [[nodiscard]] std::optional<Fault> join(Rank rank, const messages::Hello& hello);
  /// Handles a Ready. Returns a fault if the worker's plan differs or it is not due to say Ready.
  [[nodiscard]] std::optional<Fault> ready(Rank rank, const messages::Ready& ready);
  void leave(Rank rank);
  /// Restarts the start deadline because a worker makes progress with loading.
  void loads(TimePoint now) { start_ = std::max(start_, now); }

  void lifeline_opened(Rank rank, TimePoint now);
  void heartbeat(Rank rank, Pulse pulse, TimePoint now);
  void dying(Rank rank, int signal) { at(rank).signal = signal; }
  void cut_off(Rank rank) { at(rank).is_cut_off = true; }
  /// @return false if expected: the worker has said Goodbye, or is known to be lost
  bool lifeline_closed(Rank rank, TimePoint now);

  /// Extends all deadlines by `gap`, in which the coordinator did not run and read nothing.
  void forgive(std::chrono::steady_clock::duration gap, TimePoint now);

  /// Checks the deadlines: late starters, silent workers, closed lifelines.
  [[nodiscard]] std::optional<Fault> check(TimePoint now);

  /// Marks `rank` as lost and raises the epoch.
  void lose(Rank rank);

  /// Whether all workers have said Ready and have open lifelines (these arrive in either order).
  [[nodiscard]] bool all_ready() const { return num_settled_ == members_.size(); }
  [[nodiscard]] bool all_left() const { return num_left_ == members_.size(); }
  /// The workers' arithmetic as their Readys reported it, by rank.
  [[nodiscard]] std::vector<ArithmeticOfRank> arithmetics() const;
  [[nodiscard]] std::int64_t epoch() const { return epoch_; }
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }
  [[nodiscard]] std::vector<Rank> ranks() const;
  [[nodiscard]] bool has(Rank rank) const { return worker_of(rank).place() < members_.size(); }
  /// @pre has(rank)
  [[nodiscard]] const Member& member(Rank rank) const {
    return members_.at(worker_of(rank).place());
  }
  /// Returns "rank 2 (host node-a, pid 4122)".
  [[nodiscard]] std::string describe(Rank rank) const;

 private:
  [[nodiscard]] Member& at(Rank rank) { return members_.at(worker_of(rank).place()); }
  /// Changes a member by `how` and updates num_settled_ and num_left_.
  template <typename How>
  void change(Rank rank, const How& how);
  [[nodiscard]] std::optional<Fault> check_start(TimePoint now) const;
  [[nodiscard]] static std::string how_it_closed(const Member& member);

  std::vector<Member> members_;
  std::size_t num_settled_ = 0;  ///< workers that are ready with an open lifeline, or have left
  std::size_t num_left_ = 0;
  TimePoint quiet_until_{};  ///< before this no member can exceed a deadline
  std::string build_;
  TimePoint start_;
  MembershipLimits limits_;
  std::int64_t epoch_ = 1;
  std::optional<std::uint64_t> plan_hash_;
  Rank plan_rank_;  ///< rank that reported plan_hash_
};

}  // namespace gangway::coordinator
