// SPDX-License-Identifier: MIT
// Where a thread's time goes: at every moment it is in one of several parts, and its time is
// charged to that one, so that the parts add up to all of it by construction. A switch reads the
// clock once. The ledger is the thread's, as a profiler's ranges are: code that switches parts
// names no ledger.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace gangway {

/// Hears of each switch of a ledger. Its thread.
class PartListener {
 public:
  virtual ~PartListener() = default;
  virtual void entered(std::size_t part) = 0;
};

class TimeLedger {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMostParts = 48;
  using Nanoseconds = std::array<std::int64_t, kMostParts>;

  TimeLedger() = default;
  ~TimeLedger();
  TimeLedger(const TimeLedger&) = delete;
  TimeLedger& operator=(const TimeLedger&) = delete;

  /// Is the calling thread's from now on, which is in `part`.
  void begin(std::size_t part);
  /// The calling thread's; null: none is kept.
  [[nodiscard]] static TimeLedger* of_this_thread();

  /// The thread goes over to `part`. @return the part that it was in. Its thread.
  std::size_t enter(std::size_t part) {
    charge();
    const std::size_t former = part_.load(std::memory_order_relaxed);
    part_.store(part, std::memory_order_relaxed);
    if (listener_ != nullptr) {
      listener_->entered(part);
    }
    return former;
  }
  /// Sets the listener to switches; null: none. Its thread.
  void tell(PartListener* listener) { listener_ = listener; }
  /// So much of what was charged to `from` belongs to `to`. Its thread.
  void move(std::size_t from, std::size_t to, std::int64_t nanoseconds);
  /// Charged so far, the stretch under way included. Any thread; another than its own may see a
  /// switch half done, and be off by as long as that takes.
  [[nodiscard]] Nanoseconds read() const;

 private:
  static std::int64_t now() { return Clock::now().time_since_epoch().count(); }
  void charge() {
    const std::int64_t time = now();
    add(part_.load(std::memory_order_relaxed), time - since_.load(std::memory_order_relaxed));
    since_.store(time, std::memory_order_relaxed);
  }
  /// One thread writes: no read-modify-write is needed.
  void add(std::size_t part, std::int64_t nanoseconds) {
    charged_[part].store(charged_[part].load(std::memory_order_relaxed) + nanoseconds,
                         std::memory_order_relaxed);
  }

  std::array<std::atomic<std::int64_t>, kMostParts> charged_{};
  std::atomic<std::int64_t> since_ = 0;
  std::atomic<std::size_t> part_ = 0;
  PartListener* listener_ = nullptr;
};

/// The calling thread is in `part` until the end of the scope.
class PartScope {
 public:
  explicit PartScope(std::size_t part) : ledger_(TimeLedger::of_this_thread()) {
    former_ = ledger_ != nullptr ? ledger_->enter(part) : 0;
  }
  ~PartScope() {
    if (ledger_ != nullptr) {
      ledger_->enter(former_);
    }
  }
  PartScope(const PartScope&) = delete;
  PartScope& operator=(const PartScope&) = delete;

 private:
  TimeLedger* ledger_;
  std::size_t former_;
};

}  // namespace gangway
