// SPDX-License-Identifier: MIT
#include "base/system/time_ledger.hpp"

namespace gangway {
namespace {

thread_local TimeLedger* ledger_of_thread = nullptr;

}  // namespace

TimeLedger::~TimeLedger() {
  if (ledger_of_thread == this) {
    ledger_of_thread = nullptr;
  }
}

TimeLedger* TimeLedger::of_this_thread() { return ledger_of_thread; }

void TimeLedger::begin(std::size_t part) {
  ledger_of_thread = this;
  since_.store(now(), std::memory_order_relaxed);
  part_.store(part, std::memory_order_relaxed);
}

void TimeLedger::move(std::size_t from, std::size_t to, std::int64_t nanoseconds) {
  charge();
  add(from, -nanoseconds);
  add(to, nanoseconds);
}

TimeLedger::Nanoseconds TimeLedger::read() const {
  Nanoseconds sums{};
  for (std::size_t part = 0; part < kMostParts; ++part) {
    sums[part] = nanoseconds_[part].load(std::memory_order_relaxed);
  }
  sums[part_.load(std::memory_order_relaxed)] += now() - since_.load(std::memory_order_relaxed);
  return sums;
}

}  // namespace gangway
