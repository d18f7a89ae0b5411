// SPDX-License-Identifier: MIT
// Runs a worker's one communication thread: it drives the attached exchanges, runs submitted tasks
// in order, and calls the pump for control messages. Called by the compute thread, which waits here
// for results. No LibTorch.
//
// If the lane shares a core with compute threads, it sleeps between polls: until the host's bell
// rings, or for tens of microseconds. If the lane owns a core, it polls without sleep.
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

/// An operation that makes progress when the lane polls it. Lane thread, except `needs`.
class Exchange {
 public:
  /// What the exchange waits for.
  enum class Need {
    kNothing,   ///< no operation is in progress
    kCompute,   ///< a call from this worker's compute thread, which wakes the lane
    kHost,      ///< a worker of this host, which rings the bell
    kMessages,  ///< a message: only polling shows it
  };
  virtual ~Exchange() = default;
  /// Any thread.
  [[nodiscard]] virtual Need needs() const = 0;
  /// Does all work that does not block. Returns true if it did any. @throws CommError
  virtual bool advance() = 0;
};

/// Low-priority work that the lane polls after the exchanges. Lane thread.
class Background {
 public:
  virtual ~Background() = default;
  /// Does all work that does not block. Returns true if it did any. @throws CommError
  /// @param is_quiet  no exchange waits for a worker, so extra messages delay no exchange
  virtual bool advance(bool is_quiet) = 0;
};

/// The lane's activities, by which its time is counted.
enum class LanePart : std::size_t {
  kWork,      ///< sums, packs, publishes, runs tasks
  kUpdate,    ///< updates weights
  kIdle,      ///< has no work, or waits for the compute thread
  kWorkers,   ///< waits for a worker of its host, asleep or polling
  kMessages,  ///< waits for messages, asleep or polling
};

class Lane {
 public:
  using Task = std::function<void()>;
  using Ticket = std::uint64_t;
  /// Whether a core is left for the lane beside the compute threads of its host.
  enum class Core { kShared, kOwn };

  /// @param pump  called on the lane's thread at least every `idle_period` while the lane is idle,
  /// and less often after some idle seconds
  explicit Lane(Task pump, std::chrono::microseconds idle_period = std::chrono::microseconds(500));
  /// Stops after the current loop iteration; drops tasks that have not begun.
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  /// Makes the lane drive `exchange`, which must outlive the lane or be detached.
  void attach(Exchange& exchange);
  /// Returns when the lane no longer uses `exchange`.
  void detach(Exchange& exchange) noexcept;
  /// Makes the lane poll `background` after the exchanges; same lifetime rule.
  void attach(Background& background);
  void detach(Background& background) noexcept;
  /// Lets the bell of `host` wake the lane while an exchange waits for a worker of the host. `host`
  /// must live until stop_listening or the lane's end.
  void listen_to(const HostGroup& host, Core core);
  void stop_listening() noexcept;

  /// Any thread. Never waits.
  Ticket submit(Task task);
  /// Waits until the task of `ticket` and all earlier ones have ended. Rethrows the first failure
  /// of any task or exchange; after it, no task or exchange runs.
  void wait(Ticket ticket);
  /// Waits until `exchange` needs nothing. Rethrows as above.
  void wait(const Exchange& exchange);
  /// Waits until `condition` holds; an exchange's progress makes it true. Rethrows as above.
  void wait_until(const std::function<bool()>& condition);
  /// Whether the compute thread is inside wait(), and so does not hang elsewhere. Any thread.
  [[nodiscard]] bool is_awaited() const { return compute_waits_; }
  /// The time of the lane's thread, by LanePart.
  [[nodiscard]] const TimeLedger& ledger() const { return ledger_; }
  /// Makes the lane poll soon. Any thread; allocates nothing.
  void wake();

 private:
  void run(const std::stop_token& stop);
  bool run_task();
  bool advance_exchanges();
  [[nodiscard]] Exchange::Need most_needed() const;
  void rest(const std::stop_token& stop, std::uint32_t bell, std::chrono::microseconds idle_period);
  /// Whether a task or a wake() is pending, which no exchange shows.
  [[nodiscard]] bool is_called() const GANGWAY_REQUIRES(mutex_);
  /// Ends a sleep of the lane.
  void rouse() GANGWAY_REQUIRES(mutex_);
  /// Runs `body`. If it throws, keeps the lane's first exception and drops all exchanges.
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
  bool is_woken_ GANGWAY_GUARDED_BY(mutex_) = false;
  const HostGroup* bell_host_ GANGWAY_GUARDED_BY(mutex_) = nullptr;  // sleeps on its bell
  std::exception_ptr failure_ GANGWAY_GUARDED_BY(mutex_);
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace gangway::comm
