// SPDX-License-Identifier: MIT
#include "comm/nccl/tensor_edges.hpp"

#include <fmt/format.h>

#include "base/errors.hpp"
#include "comm/nccl/check_nccl.hpp"
#include "comm/transport/peer_error.hpp"

namespace gangway::comm {
namespace {

constexpr const char* kSending = "sending a tensor to another worker";
constexpr const char* kReceiving = "receiving a tensor from another worker";
/// The workers in the session of an edge.
constexpr int kSender = 0;
constexpr int kReceiver = 1;

}  // namespace

TensorEdges::TensorEdges(Lane& lane, TensorEdgesSetup setup)
    : lane_(lane), setup_(std::move(setup)) {
  lane_.attach(*this);
}

TensorEdges::~TensorEdges() {
  lane_.detach(*this);
  for (const auto& [edge, session] : setup_.sessions) {
    (void)session->drain();
  }
}

void TensorEdges::send(int peer, Memory memory) {
  (void)submit(Direction::kSend, {setup_.worker, peer}, std::move(memory));
}

TensorEdges::Ticket TensorEdges::receive(int peer, Memory memory) {
  return submit(Direction::kReceive, {peer, setup_.worker}, std::move(memory));
}

TensorEdges::Ticket TensorEdges::submit(Direction direction, TensorEdge edge, Memory memory) {
  const auto session = setup_.sessions.find(edge);
  if (session == setup_.sessions.end()) {
    throw InvariantError(fmt::format(
        "a tensor goes from rank {} to rank {}, which have no NCCL connection; please report this",
        rank_of(WorkerIndex(edge.first)), rank_of(WorkerIndex(edge.second))));
  }
  Operation operation{.ticket = next_++,
                      .direction = direction,
                      .session = session->second,
                      .memory = std::move(memory),
                      .before = make_event(),
                      .done = std::make_shared<CudaEvent>(make_event())};
  check(cudaEventRecord(operation.before.get(), setup_.compute), "ordering a tensor's way");
  const Ticket ticket = operation.ticket;
  {
    const MutexLock lock(mutex_);
    num_unsent_ += direction == Direction::kSend ? 1 : 0;
    asked_.push_back(std::move(operation));
    num_under_way_.fetch_add(1, std::memory_order_release);
  }
  lane_.wake();
  return ticket;
}

void TensorEdges::await(Ticket ticket) {
  // Wait for the launch, because waiting for an event that is not recorded has no effect.
  lane_.wait_until([this, ticket] {
    const MutexLock lock(mutex_);
    return launched_.contains(ticket);
  });
  std::shared_ptr<CudaEvent> coming;
  {
    const MutexLock lock(mutex_);
    coming = launched_.extract(ticket).mapped();
  }
  check(cudaStreamWaitEvent(setup_.compute, coming->get(), 0), kReceiving);
  awaited_.push_back(std::move(coming));
  if (awaited_.size() > kMostAhead) {
    lane_.wait_until([&before = *awaited_.front()] {
      return cudaEventQuery(before.get()) != cudaErrorNotReady;  // the lane reports a failure
    });
    awaited_.pop_front();
  }
}

void TensorEdges::finish_sending() {
  lane_.wait_until([this] {
    const MutexLock lock(mutex_);
    return num_unsent_ == 0;
  });
}

bool TensorEdges::advance() {
  for (const auto& [edge, session] : setup_.sessions) {
    session->throw_if_failed();
  }
  if (needs() == Need::kNothing) {
    return false;
  }
  bool moved = false;
  while (launch_next()) {
    moved = true;
  }
  return let_go() || moved;
}

bool TensorEdges::launch_next() {
  Operation operation;
  {
    const MutexLock lock(mutex_);
    if (asked_.empty()) {
      return false;
    }
    operation = std::move(asked_.front());
    asked_.pop_front();
  }
  NcclSession& session = *operation.session;
  const Memory& memory = operation.memory;
  const bool sends = operation.direction == Direction::kSend;
  const char* const what = sends ? kSending : kReceiving;
  check(cudaSetDevice(session.device()), what);  // the lane thread's current device
  check(cudaStreamWaitEvent(session.stream(), operation.before.get(), 0), what);
  session.group(what, [&](ncclComm_t communicator) {
    check(sends ? ncclSend(memory.bytes, memory.size, ncclInt8, kReceiver, communicator,
                           session.stream())
                : ncclRecv(memory.bytes, memory.size, ncclInt8, kSender, communicator,
                           session.stream()),
          what);
  });
  session.count_sent(sends ? memory.size : 0);
  check(cudaEventRecord(operation.done->get(), session.stream()), what);
  session.watch(session.stream(), what);
  if (!sends) {
    const MutexLock lock(mutex_);
    launched_.emplace(operation.ticket, operation.done);
  }
  in_flight_.push_back(std::move(operation));
  return true;
}

bool TensorEdges::let_go() {
  int sent = 0;
  const auto num_over = in_flight_.remove_if([&sent](const Operation& operation) {
    const cudaError_t state = cudaEventQuery(operation.done->get());
    if (state == cudaErrorNotReady) {
      return false;
    }
    check(state, "moving a tensor between workers");
    sent += operation.direction == Direction::kSend ? 1 : 0;
    return true;
  });
  if (num_over == 0) {
    return false;
  }
  num_under_way_.fetch_sub(static_cast<int>(num_over), std::memory_order_release);
  const MutexLock lock(mutex_);
  num_unsent_ -= sent;
  return true;
}

}  // namespace gangway::comm
