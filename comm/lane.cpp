// SPDX-License-Identifier: MIT
#include "comm/lane.hpp"

#include <algorithm>
#include <utility>

#include <sched.h>
#include <sys/prctl.h>

#include "base/system/thread_name.hpp"

namespace gangway::comm {
namespace {

// Sleep between polls for messages while compute works: 1 Gbit/s delivers 12 KB in this time, which
// a socket's buffer holds; a poll costs about a fiftieth of it.
constexpr std::chrono::microseconds kBetweenPolls{100};
// The same while compute waits. Polling without sleep was slower because the kernel's TCP work and
// the workers still computing need the core (two hosts, two cores: 755 against 950 Mbit/s).
constexpr std::chrono::microseconds kBetweenEagerPolls{25};
// Time between two pumps while exchanges progress. On shared cores an MPI poll that finds nothing
// yields the core, and the lane gets it back a time slice later.
constexpr std::chrono::microseconds kBetweenPumps{500};
// Longest sleep on the bell: control messages and deadlines ring no bell.
constexpr std::chrono::microseconds kBellPatience{500};
// After kIdleFor without work, the lane's idle period grows by the factor kLongerIdle.
constexpr std::chrono::seconds kIdleFor{2};
constexpr int kLongerIdle = 20;

LanePart part_of(Exchange::Need need) {
  switch (need) {
    case Exchange::Need::kHost:
      return LanePart::kWorkers;
    case Exchange::Need::kMessages:
      return LanePart::kMessages;
    default:
      return LanePart::kIdle;
  }
}

}  // namespace

Lane::Lane(Task pump, std::chrono::microseconds idle_period)
    : pump_(std::move(pump)),
      idle_period_(idle_period),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Lane::~Lane() {
  thread_.request_stop();
  changed_.notify_all();
}

void Lane::attach(Exchange& exchange) {
  wait(submit([this, &exchange] { exchanges_.push_back(&exchange); }));
}

void Lane::detach(Exchange& exchange) noexcept {
  try {
    wait(submit([this, &exchange] { std::erase(exchanges_, &exchange); }));
  } catch (...) {  // NOLINT(bugprone-empty-catch): wait() reports the lane's failure to its callers
    // At its first failure the lane dropped all exchanges.
  }
}

void Lane::attach(Background& background) {
  wait(submit([this, &background] { backgrounds_.push_back(&background); }));
}

void Lane::detach(Background& background) noexcept {
  try {
    wait(submit([this, &background] { std::erase(backgrounds_, &background); }));
  } catch (...) {  // NOLINT(bugprone-empty-catch): as above
  }
}

void Lane::listen_to(const HostGroup& host, Core core) {
  wait(submit([this, &host, core] {
    host_ = &host;
    core_ = core;
  }));
}

void Lane::stop_listening() noexcept {
  try {
    wait(submit([this] {
      host_ = nullptr;
      core_ = Core::kShared;
    }));
  } catch (...) {  // NOLINT(bugprone-empty-catch): the lane stopped listening when it failed
  }
}

Lane::Ticket Lane::submit(Task task) {
  const MutexLock lock(mutex_);
  tasks_.push_back(std::move(task));
  rouse();
  return ++submitted_;
}

bool Lane::is_called() const { return is_woken_ || (!tasks_.empty() && failure_ == nullptr); }

void Lane::rouse() {
  changed_.notify_one();
  if (bell_host_ != nullptr) {
    bell_host_->ring();
  }
}

template <typename Condition>
void Lane::wait_for(const Condition& condition) {
  MutexLock lock(mutex_);
  compute_waits_ = true;
  is_woken_ = true;
  rouse();
  finished_changed_.wait(
      lock, [&]() GANGWAY_REQUIRES(mutex_) { return failure_ != nullptr || condition(); });
  compute_waits_ = false;
  if (failure_ != nullptr) {
    std::rethrow_exception(failure_);
  }
}

void Lane::wait(Ticket ticket) {
  wait_for([&]() GANGWAY_REQUIRES(mutex_) { return finished_ >= ticket; });
}

void Lane::wait(const Exchange& exchange) {
  wait_for([&] { return exchange.needs() == Exchange::Need::kNothing; });
}

void Lane::wait_until(const std::function<bool()>& condition) { wait_for(condition); }

void Lane::wake() {
  const MutexLock lock(mutex_);
  is_woken_ = true;
  rouse();
}

void Lane::run(const std::stop_token& stop) {
  name_this_thread("lane");
  // The kernel's default slack of 50 us would double the sleep between polls.
  (void)prctl(PR_SET_TIMERSLACK, 1000UL);
  ledger_.begin(static_cast<std::size_t>(LanePart::kWork));
  std::chrono::steady_clock::time_point pumped;
  auto at_work = std::chrono::steady_clock::now();
  while (!stop.stop_requested()) {
    const std::uint32_t bell = host_ != nullptr ? host_->bell() : 0;
    const auto begin = std::chrono::steady_clock::now();
    const bool ran = run_task();
    const bool moved = advance_exchanges() || ran;
    // The pump also runs while the lane is busy, so that control messages are not starved.
    const auto now = std::chrono::steady_clock::now();
    if (ran || !moved || now - pumped >= kBetweenPumps) {
      attempt(pump_);
      pumped = now;
    }
    if (moved) {
      at_work = now;
      const MutexLock lock(mutex_);
      finished_changed_.notify_all();
    } else {
      // A poll without result counts as waiting; so does the pump, because it polls MPI.
      const std::size_t awaited = static_cast<std::size_t>(part_of(most_needed()));
      const auto looked = std::chrono::steady_clock::now() - begin;
      ledger_.move(static_cast<std::size_t>(LanePart::kWork), awaited, looked.count());
      const PartScope part(awaited);
      rest(stop, bell, now - at_work < kIdleFor ? idle_period_ : idle_period_ * kLongerIdle);
    }
  }
}

bool Lane::run_task() {
  Task task;
  {
    const MutexLock lock(mutex_);
    is_woken_ = false;
    if (tasks_.empty() || failure_ != nullptr) {
      return false;
    }
    task = std::move(tasks_.front());
    tasks_.pop_front();
  }
  attempt(task);
  const MutexLock lock(mutex_);
  ++finished_;
  return true;
}

bool Lane::advance_exchanges() {
  bool moved = false;
  attempt([&] {
    for (Exchange* exchange : exchanges_) {
      moved = exchange->advance() || moved;
    }
    const bool is_quiet = std::ranges::none_of(exchanges_, [](const Exchange* exchange) {
      return exchange->needs() > Exchange::Need::kCompute;
    });
    for (Background* background : backgrounds_) {
      moved = background->advance(is_quiet) || moved;
    }
  });
  return moved;
}

Exchange::Need Lane::most_needed() const {
  Exchange::Need most = Exchange::Need::kNothing;
  for (const Exchange* exchange : exchanges_) {
    most = std::max(most, exchange->needs());
  }
  return most;
}

void Lane::rest(const std::stop_token& stop, std::uint32_t bell,
                std::chrono::microseconds idle_period) {
  const Exchange::Need most = most_needed();
  if (most == Exchange::Need::kNothing || most == Exchange::Need::kCompute) {
    MutexLock lock(mutex_);
    changed_.wait_for(lock, stop, idle_period,
                      [this]() GANGWAY_REQUIRES(mutex_) { return is_called(); });
  } else if (core_ == Core::kOwn) {
    (void)sched_yield();
  } else if (most == Exchange::Need::kHost && host_ != nullptr) {
    MutexLock lock(mutex_);
    if (is_called()) {
      return;
    }
    bell_host_ = host_;  // later calls to rouse() ring and change the bell from the value read
    lock.unlock();
    host_->wait_for_bell(bell, kBellPatience);
    lock.lock();
    bell_host_ = nullptr;
  } else {
    std::this_thread::sleep_for(compute_waits_ ? kBetweenEagerPolls : kBetweenPolls);
  }
}

template <typename Body>
void Lane::attempt(const Body& body) {
  try {
    body();
  } catch (...) {
    const MutexLock lock(mutex_);
    if (failure_ == nullptr) {  // later failures mostly follow from the first
      failure_ = std::current_exception();
    }
    exchanges_.clear();
    backgrounds_.clear();
    host_ = nullptr;
    finished_changed_.notify_all();
  }
}

}  // namespace gangway::comm
