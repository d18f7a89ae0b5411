// SPDX-License-Identifier: MIT
// The one thread of a worker that communicates. It drives the exchanges attached to it, which go on
// by themselves once begun, runs the tasks submitted to it in order, and pumps the control messages
// that share its thread. The compute thread waits here for what it needs.
//
// How it waits: where the lane shares a core with those who compute, it sleeps between polls, until
// the bell of its host rings or for some tens of microseconds; where it owns a core, it polls
// without sleep.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "base/guarded.hpp"
#include "base/system/time_ledger.hpp"
#include "comm/host/host_group.hpp"

namespace gangway::comm {

/// Something that makes progress when it is polled. Lane thread, but for `waits_for`.
class Exchange {
 public:
  /// What it needs next.
  enum class Need {
    kNothing,   ///< nothing has begun
    kCompute,   ///< something from this worker's compute thread, which wakes the lane
    kHost,      ///< a worker of this host, which rings the bell
    kMessages,  ///< a message: only polling shows it
  };
  virtual ~Exchange() = default;
  /// Any thread.
  [[nodiscard]] virtual Need needs() const = 0;
  /// Does what can be done now. True if that was something. @throws CommError
  virtual bool advance() = 0;
};

/// Something that goes on where the exchanges leave room for it. Lane thread.
class Background {
 public:
  virtual ~Background() = default;
  /// Does what can be done now. True if that was something. @throws CommError
  /// @param is_quiet  no exchange waits for anybody: messages are in nobody's way
  virtual bool advance(bool is_quiet) = 0;
};

/// What a lane's time goes to.
enum class LanePart : std::size_t {
  kWork,      ///< sums, packs, publishes, runs tasks
  kUpdate,    ///< updates weights
  kIdle,      ///< has nothing to do, or waits for the compute thread
  kWorkers,   ///< waits for a worker of its host, by sleeping or by looking again
  kMessages,  ///< waits for messages, likewise
};

class Lane {
 public:
  using Task = std::function<void()>;
  using Ticket = std::uint64_t;
  /// Whether a core is left for the lane beside the compute threads of its host.
  enum class Core { kShared, kOwn };

  /// @param pump  called now and then on the lane's thread, at least every `idle_period` where
  /// there is nothing to do, and less often where there was nothing for some seconds
  explicit Lane(Task pump, std::chrono::microseconds idle_period = std::chrono::microseconds(500));
  /// Ends after the round in hand; tasks not begun are dropped.
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  /// From now on the lane drives `exchange`. Neither may end before the lane does or `detach`.
  void attach(Exchange& exchange);
  /// Returns when the lane has let go of `exchange`.
  void detach(Exchange& exchange) noexcept;
  /// The same for what goes on behind the exchanges.
  void attach(Background& background);
  void detach(Background& background) noexcept;
  /// From now on the bell of `host` wakes the lane where an exchange needs its workers. `host`
  /// outlives the lane or that it stops listening.
  void listen_to(const HostGroup& host, Core core);
  void stop_listening() noexcept;

  /// Any thread. Never waits.
  Ticket submit(Task task);
  /// Waits until the task of `ticket` and all before it have ended. Rethrows the first failure of
  /// any task or exchange: after one, nothing further runs.
  void wait(Ticket ticket);
  /// Waits until `exchange` needs nothing. Rethrows as above.
  void wait(const Exchange& exchange);
  /// Waits until `condition`, which an exchange makes true as it moves. Rethrows as above.
  void wait_until(const std::function<bool()>& condition);
  /// Whether the compute thread is in wait(): it does not hang in something else. Any thread.
  [[nodiscard]] bool is_awaited() const { return compute_waits_; }
  /// Of its thread, by LanePart.
  [[nodiscard]] const TimeLedger& ledger() const { return ledger_; }
  /// Has the lane look again soon; any thread. Allocates nothing.
  void wake();

 private:
  void run(const std::stop_token& stop);
  bool run_task();
  bool advance_exchanges();
  [[nodiscard]] Exchange::Need most_needed() const;
  void rest(const std::stop_token& stop, std::uint32_t bell, std::chrono::microseconds idle_period);
  /// Whether there is something to do that no exchange shows.
  [[nodiscard]] bool is_called() const GANGWAY_REQUIRES(mutex_);
  /// Ends a sleep of the lane.
  void rouse() GANGWAY_REQUIRES(mutex_);
  /// Runs `body` and keeps its exception if it is the lane's first. False: it failed.
  template <typename Body>
  void attempt(const Body& body);
  template <typename Condition>
  void wait_for(const Condition& condition);

  Task pump_;
  std::chrono::microseconds idle_period_;
  TimeLedger ledger_;
  std::atomic<bool> compute_waits_ = false;
  std::vector<Exchange*> exchanges_;  // lane thread only, as are the three below
  std::vector<Background*> backgrounds_;
  const HostGroup* host_ = nullptr;
  Core core_ = Core::kShared;
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::condition_variable finished_changed_;
  std::deque<Task> tasks_ GANGWAY_GUARDED_BY(mutex_);
  Ticket submitted_ GANGWAY_GUARDED_BY(mutex_) = 0;
  Ticket finished_ GANGWAY_GUARDED_BY(mutex_) = 0;
  bool woken_ GANGWAY_GUARDED_BY(mutex_) = false;
  const HostGroup* hears_ GANGWAY_GUARDED_BY(mutex_) = nullptr;  // on whose bell the lane sleeps
  std::exception_ptr failure_ GANGWAY_GUARDED_BY(mutex_);
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace gangway::comm
