// SPDX-License-Identifier: MIT
#include "bench/pipeline/emulated_device.hpp"

#include <algorithm>
#include <span>
#include <thread>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "comm/transport/deadline.hpp"
#include "comm/transport/peer_error.hpp"
#include "pipeline/staged/text.hpp"
#include "pipeline/staged/work_seconds.hpp"

namespace gangway::bench {
namespace {

using pipeline::StageInstruction;
using pipeline::StageOperation;

constexpr std::chrono::microseconds kBetweenLooks{100};
constexpr std::chrono::milliseconds kBetweenPolls{1};
/// What a process is woken up late is made up for, up to here: the machine is not the device's.
constexpr std::chrono::milliseconds kOversleep{3};

Clock::duration duration_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

comm::MessageTag tag_of(const comm::Transport& transport, comm::MessageKind kind, int network = 0,
                        int bucket = 0) {
  return {transport.epoch(), network, kind, bucket, 0};
}

/// The same at both ends.
StageInstruction as_sent(StageInstruction what) {
  what.operation = StageOperation::kSend;
  what.peer = -1;
  return what;
}

/// Bytes of the largest message.
std::size_t largest_message(const pipeline::StageSchedule& schedule, const pipeline::Costs& costs) {
  std::int64_t largest = 0;
  for (const pipeline::StageList& list : schedule.workers) {
    for (const StageInstruction& what : list) {
      largest = std::max(largest, what.bytes);
    }
  }
  for (const auto& network : costs.chunks) {
    for (const pipeline::WorkCosts& chunk : network) {
      largest = std::max(largest, chunk.gradient_bytes);
    }
  }
  return static_cast<std::size_t>(largest);
}

}  // namespace

void wait_patiently(comm::Transport& transport, comm::RequestId request,
                    std::chrono::milliseconds timeout, const std::string& what) {
  const comm::Deadline deadline(timeout);
  while (!transport.done(request)) {
    if (deadline.expired()) {
      throw CommError(
          fmt::format("{} has not come in {:.1f} s; is its sender alive? The limit is "
                      "--timeout",
                      what, deadline.allowed_seconds()));
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

EmulatedDevice::EmulatedDevice(const Setup& setup)
    : setup_(setup),
      worker_(setup.transport.worker()),
      payload_(largest_message(setup.schedule, setup.costs)),
      arrived_(payload_.size()) {}

DeviceFigures EmulatedDevice::run(Clock::time_point beginning) {
  const pipeline::StageList& list = setup_.schedule.workers[static_cast<std::size_t>(worker_)];
  figures_ = {};
  figures_.starts.resize(list.size());
  beginning_ = now_ = beginning;
  sleep_until(beginning);
  pipeline::execute(list, *this);
  figures_.end = std::chrono::duration<double>(Clock::now() - beginning_).count();
  for (; !leaving_.empty(); leaving_.pop_front()) {
    for (const comm::RequestId request : leaving_.front().requests) {
      wait_patiently(setup_.transport, request, setup_.timeout,
                     fmt::format("worker {}: the end of a send", worker_));
    }
  }
  return std::move(figures_);
}

void EmulatedDevice::begin(std::size_t line, const StageInstruction& /*what*/) {
  line_ = line;
  figures_.starts[line] = std::chrono::duration<double>(Clock::now() - beginning_).count();
}

void EmulatedDevice::compute(const StageInstruction& what) {
  work(pipeline::seconds_of(what, worker_, setup_.costs));
  if (what.keeps) {
    figures_.peak_stored = std::max(figures_.peak_stored, ++stored_);
  }
  if (what.lets_go) {
    --stored_;
  }
}

void EmulatedDevice::open_leaf(const StageInstruction& /*what*/) {
  figures_.peak_leaves = std::max(figures_.peak_leaves, ++leaves_);
}

void EmulatedDevice::reduce(const StageInstruction& what) {
  work(pipeline::seconds_of(what, worker_, setup_.costs));
  const std::int64_t bytes =
      setup_.costs.chunks[what.network][static_cast<std::size_t>(what.chunk)].gradient_bytes;
  StageInstruction sum = what;
  sum.is_last = false;
  for (const int other : others_with(what)) {
    start_message(other,
                  tag_of(setup_.transport, comm::MessageKind::kPartial,
                         static_cast<int>(what.network), what.chunk),
                  sum, bytes, stamp());
  }
}

void EmulatedDevice::await(const StageInstruction& what) {
  const std::int64_t bytes =
      setup_.costs.chunks[what.network][static_cast<std::size_t>(what.chunk)].gradient_bytes;
  StageInstruction sum = what;
  --sum.version;
  for (const int other : others_with(what)) {
    go_on_at(take_message(other,
                          tag_of(setup_.transport, comm::MessageKind::kPartial,
                                 static_cast<int>(what.network), what.chunk),
                          sum, bytes));
  }
}

void EmulatedDevice::send(const StageInstruction& what) {
  start_message(what.peer, tag_of(setup_.transport, comm::MessageKind::kTensor), what, what.bytes,
                stamp());
}

void EmulatedDevice::receive(const StageInstruction& what) {
  const Clock::time_point sent_at = take_message(
      what.peer, tag_of(setup_.transport, comm::MessageKind::kTensor), what, what.bytes);
  const pipeline::Link link = pipeline::link_of(what.peer, worker_, setup_.costs.links);
  go_on_at(sent_at + duration_of(link.latency_seconds +
                                 static_cast<double>(what.bytes) / link.bytes_per_second));
}

/// All tell the first worker, which tells all.
void EmulatedDevice::flush(const StageInstruction& what) {
  const comm::MessageTag tag = tag_of(setup_.transport, comm::MessageKind::kBarrier);
  if (worker_ != 0) {
    start_message(0, tag, what, 0, stamp());
    return go_on_at(take_message(0, tag, what, 0));
  }
  Clock::time_point last = stamp();
  for (int other = 1; other < setup_.transport.num_workers(); ++other) {
    last = std::max(last, take_message(other, tag, what, 0));
  }
  for (int other = 1; other < setup_.transport.num_workers(); ++other) {
    start_message(other, tag, what, 0, last);
  }
  go_on_at(last);
}

void EmulatedDevice::work(double seconds) {
  figures_.busy_seconds += seconds;
  now_ += duration_of(seconds);
  sleep_until(now_);
}

void EmulatedDevice::sleep_until(Clock::time_point moment) {
  for (poll_sends(); !leaving_.empty() && Clock::now() + kBetweenPolls < moment; poll_sends()) {
    std::this_thread::sleep_for(kBetweenPolls);
  }
  std::this_thread::sleep_until(moment);
}

Clock::time_point EmulatedDevice::stamp() const {
  const Clock::time_point real = Clock::now();
  return real - now_ > kOversleep ? real : now_;
}

void EmulatedDevice::go_on_at(Clock::time_point due) {
  const Clock::time_point real = Clock::now();
  const bool is_late = real - std::max(due, now_) > kOversleep;
  now_ = std::max(now_, is_late ? real : due);
  sleep_until(now_);
}

void EmulatedDevice::start_message(int peer, comm::MessageTag tag, const StageInstruction& what,
                                   std::int64_t bytes, Clock::time_point sent_at) {
  static_assert(std::is_trivially_copyable_v<Head>);
  Outgoing& one = leaving_.emplace_back();
  one.head = {.what = as_sent(what), .sent_at = sent_at.time_since_epoch().count()};
  one.requests.push_back(
      setup_.transport.start_send(peer, tag, std::as_bytes(std::span(&one.head, 1))));
  if (bytes > 0) {
    one.requests.push_back(setup_.transport.start_send(
        peer, tag, std::span(payload_).first(static_cast<std::size_t>(bytes))));
  }
  ++figures_.sent;
  poll_sends();
}

Clock::time_point EmulatedDevice::take_message(int peer, comm::MessageTag tag,
                                               const StageInstruction& what, std::int64_t bytes) {
  Head head;
  const auto wait = [&](std::span<std::byte> into) {
    const comm::RequestId request = setup_.transport.start_receive(peer, tag, into);
    poll_sends();
    wait_patiently(setup_.transport, request, setup_.timeout, place(what, peer));
  };
  wait(std::as_writable_bytes(std::span(&head, 1)));
  if (head.what != as_sent(what)) {
    throw comm::PeerError(peer,
                          fmt::format("{}: there came '{}'; please report this", place(what, peer),
                                      pipeline::text_of(head.what, setup_.names)));
  }
  if (bytes > 0) {
    wait(std::span(arrived_).first(static_cast<std::size_t>(bytes)));
  }
  ++figures_.received;
  return Clock::time_point(Clock::duration(head.sent_at));
}

void EmulatedDevice::poll_sends() {
  while (!leaving_.empty()) {
    std::vector<comm::RequestId>& requests = leaving_.front().requests;
    while (!requests.empty() && setup_.transport.done(requests.front())) {
      requests.erase(requests.begin());
    }
    if (!requests.empty()) {
      return;
    }
    leaving_.pop_front();
  }
}

std::vector<int> EmulatedDevice::others_with(const StageInstruction& what) const {
  std::vector<int> others;
  for (std::size_t other = 0; other < setup_.schedule.workers.size(); ++other) {
    const bool has_it =
        std::ranges::any_of(setup_.schedule.workers[other], [&](const StageInstruction& one) {
          return one.operation == StageOperation::kReduce && one.network == what.network &&
                 one.chunk == what.chunk;
        });
    if (has_it && static_cast<int>(other) != worker_) {
      others.push_back(static_cast<int>(other));
    }
  }
  return others;
}

std::string EmulatedDevice::place(const StageInstruction& what, int peer) const {
  return fmt::format("worker {}, line {}: what worker {} sends for '{}'", worker_, line_ + 1, peer,
                     pipeline::text_of(what, setup_.names));
}

}  // namespace gangway::bench
