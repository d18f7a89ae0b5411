// SPDX-License-Identifier: MIT
// A rank's end of the tether (run/tether_protocol.hpp), and the last resort of every rank: the
// thread that ends this process where nothing else does. It sees the end of its supervisor and of
// its launcher (mpirun, or its daemon on this host), and the deadline of MPI_Init, which waits for
// a dead rank for ever. The mains of coordinator and workers make it before MPI_Init, one a
// process. Under a bare mpirun there is no supervisor; the rest holds.
//
// mpirun, upon SIGTERM, sends its ranks SIGCONT at once and sleeps before it sends more. So a
// SIGCONT from the launcher means its end; a SIGCONT from another process has its usual effect.
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

/// What `gangway train` hands to the program that it becomes, as one argument "--tether=5:1234".
struct InheritedTether {
  int socket = -1;  ///< -1: no supervisor
  pid_t launcher = 0;
};
[[nodiscard]] std::string tether_argument(const InheritedTether& inherited);
/// Among a program's arguments; without one the present parent is the launcher.
[[nodiscard]] InheritedTether inherited_tether(const std::vector<std::string>& arguments);

struct TetherSettings {
  InheritedTether inherited;
  /// From now to `met`.
  std::chrono::milliseconds meeting = kStartDeadline;
  /// How long this process, once settled, may go on when it is told to leave: the coordinator's
  /// end, which it sees too, lets it save what it has.
  std::chrono::milliseconds last_words{0};
  /// Called once on the tether's thread when the supervisor or the launcher of a settled rank is
  /// gone: the rank has kOrphanLimit to leave in its own way.
  std::function<void()> on_orphaned = [] {};
};

/// How long a settled rank outlives its supervisor: all are to be gone after 5 s.
inline constexpr std::chrono::milliseconds kOrphanLimit{3'500};

class Tether {
 public:
  explicit Tether(TetherSettings settings);
  ~Tether();
  Tether(const Tether&) = delete;
  Tether& operator=(const Tether&) = delete;

  /// All ranks have met: MPI_Init and MPI_Comm_dup have returned.
  void met() { met_ = true; }
  /// The lifelines look after this rank.
  void settle();

  /// From now on the supervisor hears of this process only while `beat` is called: the main thread
  /// vouches for itself. Until `end_beats`.
  void begin_beats();
  void beat() { beaten_ = std::chrono::steady_clock::now().time_since_epoch().count(); }
  void end_beats() { beats_ = false; }

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  void watch(const std::stop_token& stop);
  void wake();
  void speak(TimePoint now);
  void send(char byte);
  [[nodiscard]] bool is_alive(TimePoint now) const;
  /// Looks at everything that could end this process, and ends it.
  void look(TimePoint now);
  void listen(TimePoint now);
  void orphan(TimePoint now);
  void leave_by(TimePoint limit) { leave_at_ = std::min(leave_at_, limit); }

  TetherSettings settings_;
  FileDescriptor socket_;
  FileDescriptor wake_;  ///< an eventfd: ends the thread's poll()
  TimePoint meeting_ends_;
  TimePoint leave_at_ = TimePoint::max();  ///< on the thread alone, like the next three
  TimePoint next_beat_{};
  bool has_told_ = false;  ///< that it is settled
  bool is_orphan_ = false;
  std::atomic<bool> met_ = false;
  std::atomic<bool> settled_ = false;
  std::atomic<bool> beats_ = false;
  std::atomic<std::chrono::steady_clock::rep> beaten_ = 0;
  std::jthread thread_;  ///< last: it uses all of the above
};

}  // namespace gangway
