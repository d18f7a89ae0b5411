// SPDX-License-Identifier: MIT
// A rank's end of the tether (run/tether_protocol.hpp): a thread that ends this process if nothing
// else does. It watches the supervisor and the launcher (mpirun, or its daemon on this host). It
// bounds MPI_Init, which waits for a dead rank for ever. The main() of coordinator and worker makes
// one Tether before MPI_Init. A bare mpirun has no supervisor; the rest holds.
//
// On SIGTERM, mpirun sends its ranks SIGCONT at once and sleeps before it sends more signals. So a
// SIGCONT from the launcher means that the launcher ends. Other SIGCONTs have their usual effect.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

#include "base/file_descriptor.hpp"
#include "run/control_protocol.hpp"

namespace gangway {

/// `gangway train` passes this to the program that it executes, as an argument "--tether=5:1234".
struct InheritedTether {
  int socket = -1;  ///< -1: no supervisor
  pid_t launcher = 0;
};
[[nodiscard]] std::string tether_argument(const InheritedTether& inherited);
/// Parses it from a program's arguments; without such an argument the parent is the launcher.
[[nodiscard]] InheritedTether inherited_tether(const std::vector<std::string>& arguments);

struct TetherSettings {
  InheritedTether inherited;
  /// Deadline of `met`, from the construction of the Tether.
  std::chrono::milliseconds meeting = kStartDeadline;
  /// Time that a settled process may continue after kTetherEnd. In this time a worker, which also
  /// sees the coordinator's end, saves its snapshots.
  std::chrono::milliseconds last_words{0};
  /// Called once on the tether's thread when the supervisor or the launcher of a settled rank is
  /// gone. The rank then has kOrphanLimit to leave by itself.
  std::function<void()> on_orphaned = [] {};
};

/// Time that a settled rank may outlive its supervisor, so that all ranks are gone after 5 s.
inline constexpr std::chrono::milliseconds kOrphanLimit{3'500};

class Tether {
 public:
  explicit Tether(TetherSettings settings);
  ~Tether();
  Tether(const Tether&) = delete;
  Tether& operator=(const Tether&) = delete;

  /// Ends the deadline of MPI_Init. Call when MPI_Init and MPI_Comm_dup have returned.
  void met() { met_ = true; }
  /// Marks this rank as settled. Call when the lifelines watch it.
  void settle();

  /// Until `end_beats`, sends beats only while the main thread calls `beat`. So the supervisor
  /// notices if the main thread hangs.
  void begin_beats();
  void beat() { last_beat_ = std::chrono::steady_clock::now().time_since_epoch().count(); }
  void end_beats() { needs_beats_ = false; }

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  void watch(const std::stop_token& stop);
  void wake();
  void speak(TimePoint now);
  void send(char byte);
  [[nodiscard]] bool is_alive(TimePoint now) const;
  /// Checks all reasons to end this process, and ends it if one holds.
  void look(TimePoint now);
  void listen(TimePoint now);
  void orphan(TimePoint now);
  void leave_by(TimePoint limit) { leave_at_ = std::min(leave_at_, limit); }

  TetherSettings settings_;
  FileDescriptor socket_;
  FileDescriptor wake_;  ///< an eventfd: ends the thread's poll()
  TimePoint meeting_ends_;
  TimePoint leave_at_ = TimePoint::max();  ///< used by the thread only, like the next three
  TimePoint next_beat_{};
  bool is_settled_sent_ = false;  ///< kTetherSettled was sent
  bool is_orphan_ = false;
  std::atomic<bool> met_ = false;
  std::atomic<bool> settled_ = false;
  std::atomic<bool> needs_beats_ = false;
  std::atomic<std::chrono::steady_clock::rep> last_beat_ = 0;
  std::jthread thread_;  ///< last member, because it uses all others
};

}  // namespace gangway
