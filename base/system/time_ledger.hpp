// SPDX-License-Identifier: MIT
// Accounts for a thread's time: charges every moment to exactly one part, so that the parts always
// add up to the total. A switch between parts reads the clock once. A ledger is thread-local:
// PartScope finds it, so code that switches parts names no ledger.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace gangway {

/// Receives each switch of a ledger, on the ledger's thread.
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

  /// Becomes the ledger of the calling thread, which is in `part` from now on.
  void begin(std::size_t part);
  /// Returns the calling thread's ledger; null: it has none.
  [[nodiscard]] static TimeLedger* of_this_thread();

  /// Switches to `part`. Ledger's thread only. @return the part before
  std::size_t enter(std::size_t part) {
    charge();
    const std::size_t former = part_.load(std::memory_order_relaxed);
    part_.store(part, std::memory_order_relaxed);
    if (listener_ != nullptr) {
      listener_->entered(part);
    }
    return former;
  }
  /// Sets the listener to switches; null: none. Ledger's thread only.
  void tell(PartListener* listener) { listener_ = listener; }
  /// Moves `nanoseconds` of charged time from part `from` to part `to`. Ledger's thread only.
  void move(std::size_t from, std::size_t to, std::int64_t nanoseconds);
  /// Returns the time charged so far, by part, with the current stretch. Any thread. On another
  /// thread than the ledger's, a switch under way may shift the result by its duration.
  [[nodiscard]] Nanoseconds read() const;

 private:
  static std::int64_t now() { return Clock::now().time_since_epoch().count(); }
  void charge() {
    const std::int64_t time = now();
    add(part_.load(std::memory_order_relaxed), time - since_.load(std::memory_order_relaxed));
    since_.store(time, std::memory_order_relaxed);
  }
  /// Needs no read-modify-write, because only the ledger's thread writes.
  void add(std::size_t part, std::int64_t nanoseconds) {
    nanoseconds_[part].store(nanoseconds_[part].load(std::memory_order_relaxed) + nanoseconds,
                             std::memory_order_relaxed);
  }

  std::array<std::atomic<std::int64_t>, kMostParts> nanoseconds_{};
  std::atomic<std::int64_t> since_ = 0;
  std::atomic<std::size_t> part_ = 0;
  PartListener* listener_ = nullptr;
};

/// Charges the calling thread's time to `part` until the end of the scope.
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
