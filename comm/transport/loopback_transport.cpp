// SPDX-License-Identifier: MIT
#include "comm/transport/loopback_transport.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "comm/transport/peer_error.hpp"

namespace gangway::comm {

void LoopbackHub::inject(Injector injector) {
  const MutexLock lock(mutex_);
  injector_ = std::move(injector);
}

void LoopbackHub::kill(int worker) {
  const MutexLock lock(mutex_);
  dead_[static_cast<std::size_t>(worker)] = true;
  changed_.notify_all();
}

RequestId LoopbackTransport::start_send(int peer, MessageTag tag,
                                        std::span<const std::byte> bytes) {
  const MutexLock lock(hub_.mutex_);
  if (hub_.dead_[static_cast<std::size_t>(worker_)]) {
    throw CommError(fmt::format("rank {} is dead", rank_of(own_number())));
  }
  count_sent(tag, bytes.size());
  const LoopbackHub::MessageFault fate =
      hub_.injector_ ? hub_.injector_(worker_, peer, tag) : LoopbackHub::MessageFault{};
  if (!fate.lost) {
    auto& queue = hub_.in_flight_[{worker_, peer, tag.packed()}];
    LoopbackHub::Clock::time_point arrival = LoopbackHub::Clock::now() + fate.delay;
    if (!queue.empty()) {
      arrival = std::max(arrival, queue.back().arrival);  // messages of one tag keep their order
    }
    queue.push_back({{bytes.begin(), bytes.end()}, arrival});
    hub_.changed_.notify_all();
  }
  return next_request_++;
}

RequestId LoopbackTransport::start_receive(int peer, MessageTag tag, std::span<std::byte> bytes) {
  receives_[next_request_] = {.peer = peer, .tag = tag, .bytes = bytes};
  return next_request_++;
}

RequestId LoopbackTransport::start_receive_up_to(int peer, MessageTag tag,
                                                 std::span<std::byte> bytes) {
  receives_[next_request_] = {.peer = peer, .tag = tag, .bytes = bytes, .may_be_shorter = true};
  return next_request_++;
}

bool LoopbackTransport::done(RequestId request) {
  const auto found = receives_.find(request);
  if (found == receives_.end()) {
    return true;
  }
  const Receive receive = found->second;
  // Receives of one wire complete in the order they were started, as in MPI.
  for (auto earlier = receives_.begin(); earlier != found; ++earlier) {
    if (earlier->second.peer == receive.peer &&
        earlier->second.tag.packed() == receive.tag.packed()) {
      return false;
    }
  }
  const MutexLock lock(hub_.mutex_);
  auto& queue = hub_.in_flight_[{receive.peer, worker_, receive.tag.packed()}];
  if (!queue.empty() && queue.front().arrival <= LoopbackHub::Clock::now()) {
    const LoopbackHub::Message message = std::move(queue.front());
    queue.pop_front();
    receives_.erase(found);
    if (message.bytes.size() > receive.bytes.size() ||
        (message.bytes.size() < receive.bytes.size() && !receive.may_be_shorter)) {
      throw CommError(
          fmt::format("rank {}: rank {} sent {} bytes where {} were expected; were the workers "
                      "built from one job?",
                      rank_of(own_number()), rank_of(number_of(receive.peer)), message.bytes.size(),
                      receive.bytes.size()));
    }
    std::ranges::copy(message.bytes, receive.bytes.begin());
    return true;
  }
  for (const int worker : {worker_, receive.peer}) {
    if (hub_.dead_[static_cast<std::size_t>(worker)]) {
      receives_.erase(found);
      throw CommError(fmt::format("rank {}: rank {} is dead", rank_of(own_number()),
                                  rank_of(number_of(worker))));
    }
  }
  return false;
}

void LoopbackTransport::idle() {
  MutexLock lock(hub_.mutex_);
  hub_.changed_.wait_for(lock, std::chrono::microseconds(50));
}

}  // namespace gangway::comm
