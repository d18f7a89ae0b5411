// SPDX-License-Identifier: MIT
// Who takes part: which workers have said Hello, Ready and Goodbye, whose lifeline stands, and who
// is lost. A pure state machine, driven by the Conductor on the coordinator's event loop.
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

enum class WorkerState { kExpected, kJoined, kReady, kLeft, kLost };

/// What a heartbeat says of the worker's compute thread: it waits for its lane, and so for a peer
/// perhaps; it gets on with what comes before its Ready; or neither.
enum class Pulse { kWorks, kWaits, kBegins };

/// One rank's standing.
struct Member {
  int rank = 0;                     ///< MPI rank, 1..W
  std::string host;                 ///< for people
  ProcessIdentity process;          ///< what may be killed
  std::uint64_t shared_memory = 0;  ///< equal for workers whose /dev/shm is the same
  std::string device;
  messages::Arithmetic arithmetic = {};  ///< as its Ready says
  WorkerState state = WorkerState::kExpected;
  std::optional<TimePoint> heard;   ///< last heartbeat; nothing: the lifeline was not connected yet
  Pulse pulse = Pulse::kWorks;      ///< as it was then
  std::optional<int> signal;        ///< that ends it, by its own last word
  bool is_cut_off = false;          ///< its host acknowledges nothing
  std::optional<TimePoint> closed;  ///< when the lifeline closed before a Goodbye
};

[[nodiscard]] bool takes_part(const Member& member);
/// True if a recent heartbeat reported it waiting; without a recent heartbeat it counts as hung.
[[nodiscard]] bool waits(const Member& member, TimePoint now);

/// How the membership came to an end, or could not begin.
struct Fault {
  ExitCode code = ExitCode::kWorkerLost;
  int rank = 0;        ///< the first culprit; 0: none in particular
  std::string reason;  ///< one line: who, what, remedy
};

struct MembershipLimits {
  std::chrono::milliseconds start = kStartDeadline;  ///< from the start to the last Ready
  std::chrono::milliseconds heartbeat =
      kHeartbeatDeadline;  ///< silence after which a worker is hung
  /// From a closed lifeline to the verdict: a Stop that says why may still be on its way over MPI.
  std::chrono::milliseconds closing{50};
};

class Membership {
 public:
  /// @param build  the coordinator's, which every worker's has to equal
  Membership(int num_workers, TimePoint start, const MembershipLimits& limits,
             std::string build = {});

  /// A Hello from `rank`. A fault: the programs do not fit, or the rank is unknown or greeted
  /// before.
  [[nodiscard]] std::optional<Fault> join(int rank, const messages::Hello& hello);
  /// A Ready. A fault: this worker made another plan than the others, or is not due to say this.
  [[nodiscard]] std::optional<Fault> ready(int rank, const messages::Ready& ready);
  void leave(int rank);
  /// Somebody gets on with loading: the deadline of the start runs from here.
  void loads(TimePoint now) { start_ = std::max(start_, now); }

  void lifeline_opened(int rank, TimePoint now);
  void heartbeat(int rank, Pulse pulse, TimePoint now);
  void dying(int rank, int signal) { at(rank).signal = signal; }
  void cut_off(int rank) { at(rank).is_cut_off = true; }
  /// @return false when the closing is expected: the worker has said Goodbye, or is known as lost.
  bool lifeline_closed(int rank, TimePoint now);

  /// The coordinator itself stood still for `gap` and read nothing: no deadline runs meanwhile.
  void forgive(std::chrono::steady_clock::duration gap, TimePoint now);

  /// The deadlines: late starters, silent workers, closed lifelines.
  [[nodiscard]] std::optional<Fault> check(TimePoint now);

  /// Marks `rank` as lost and raises the epoch.
  void lose(int rank);

  /// All have said Ready and their lifelines stand (the two come by different ways, in either
  /// order).
  [[nodiscard]] bool all_ready() const { return num_settled_ == members_.size(); }
  [[nodiscard]] bool all_left() const { return num_left_ == members_.size(); }
  /// As they have told by Ready, by rank.
  [[nodiscard]] std::vector<ArithmeticOfRank> arithmetics() const;
  [[nodiscard]] std::int64_t epoch() const { return epoch_; }
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }
  /// 1..W.
  [[nodiscard]] std::vector<int> ranks() const;
  /// @pre 1 <= rank <= W.
  [[nodiscard]] const Member& member(int rank) const {
    return members_.at(static_cast<std::size_t>(rank - 1));
  }
  /// "rank 2 (node-a, pid 4122)".
  [[nodiscard]] std::string describe(int rank) const;

 private:
  [[nodiscard]] Member& at(int rank) { return members_.at(static_cast<std::size_t>(rank - 1)); }
  /// Everything that may count elsewhere: `how` changes the member.
  template <typename How>
  void change(int rank, const How& how);
  [[nodiscard]] std::optional<Fault> check_start(TimePoint now) const;
  [[nodiscard]] static std::string how_it_closed(const Member& member);

  std::vector<Member> members_;
  std::size_t num_settled_ = 0;  ///< ready, and their lifelines stand; or left
  std::size_t num_left_ = 0;
  TimePoint quiet_until_{};  ///< no member can have been silent for too long before
  std::string build_;
  TimePoint start_;
  MembershipLimits limits_;
  std::int64_t epoch_ = 1;
  std::optional<std::uint64_t> plan_hash_;
  int plan_rank_ = 0;  ///< who named plan_hash_
};

}  // namespace gangway::coordinator
