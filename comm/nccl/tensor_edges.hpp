// SPDX-License-Identifier: MIT
// Moves tensors between this worker's GPU and others. Each direction between two workers (an edge)
// has its own communicator and stream, so a waiting receive delays only later tensors of its edge.
// NCCL pairs the n-th send of an edge with its n-th receive, so both ends must name an edge's
// tensors in one order. Both know the sizes beforehand.
//
//   send      compute | ready      edge: wait for `ready` | ncclSend | done: memory is released
//   receive   compute | free       edge: wait for `free`  | ncclRecv | done
//   await     compute: wait for `done`
//
// The lane launches in the order of the calls. No launch waits for another worker, because
// comm/nccl/connect_peers.hpp has connected the edges before.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <utility>

#include "base/guarded.hpp"
#include "comm/cuda/cuda_handles.hpp"
#include "comm/lane.hpp"
#include "comm/nccl/nccl_session.hpp"

namespace gangway::comm {

/// Sender and receiver, as indices among all workers.
using TensorEdge = std::pair<int, int>;

struct TensorEdgesSetup {
  int worker = 0;
  /// This worker's edges. In each session the sender is worker 0, the receiver worker 1.
  /// Sessions outlive this object.
  std::map<TensorEdge, NcclSession*> sessions = {};
  cudaStream_t compute = nullptr;  ///< outlives this object
};

class TensorEdges final : public Exchange {
 public:
  /// A tensor's device memory and its owner, which keeps it alive.
  struct Memory {
    void* bytes = nullptr;
    std::size_t size = 0;  ///< not 0
    std::shared_ptr<const void> owner;
  };
  using Ticket = std::uint64_t;
  static constexpr std::size_t kMostAhead = 2;

  /// @param lane  drives this object; outlives it
  TensorEdges(Lane& lane, TensorEdgesSetup setup);
  /// Waits for launched operations, unless a session has failed.
  ~TensorEdges() override;
  TensorEdges(const TensorEdges&) = delete;
  TensorEdges& operator=(const TensorEdges&) = delete;

  // --- compute thread ---

  /// Sends `memory` to `peer` after the compute stream's work so far. Never waits.
  void send(int peer, Memory memory);
  /// Receives the next tensor from `peer` into `memory`, after the compute stream's work so far.
  /// Never waits.
  [[nodiscard]] Ticket receive(int peer, Memory memory);
  /// Makes the compute stream wait for the tensor. Call it once per ticket. Blocks until the
  /// receive is launched, and the tensor awaited kMostAhead calls earlier has arrived. This bounds
  /// memory: a host further ahead of its GPU would allocate for later backward passes.
  void await(Ticket ticket);
  /// Waits until all sends have left.
  void finish_sending();

  // --- lane ---

  [[nodiscard]] Need needs() const override {
    return num_under_way_.load(std::memory_order_acquire) > 0 ? Need::kCompute : Need::kNothing;
  }
  bool advance() override;

 private:
  enum class Direction { kSend, kReceive };
  struct Operation {
    Ticket ticket = 0;
    Direction direction = Direction::kSend;
    NcclSession* session = nullptr;
    Memory memory;
    CudaEvent before;                 // recorded on the compute stream
    std::shared_ptr<CudaEvent> done;  // recorded on the edge's stream; shared with await()
  };

  Ticket submit(Direction direction, TensorEdge edge, Memory memory);
  bool launch_next();
  /// Releases the memory of finished operations.
  bool let_go();

  Lane& lane_;
  TensorEdgesSetup setup_;
  std::atomic<int> num_under_way_ = 0;              // operations not finished, awaited or not
  Ticket next_ = 0;                                 // compute thread
  std::deque<std::shared_ptr<CudaEvent>> awaited_;  // compute thread; the last kMostAhead
  Mutex mutex_;
  std::deque<Operation> asked_ GANGWAY_GUARDED_BY(mutex_);
  /// Launched receives that are not awaited yet.
  std::map<Ticket, std::shared_ptr<CudaEvent>> launched_ GANGWAY_GUARDED_BY(mutex_);
  int num_unsent_ GANGWAY_GUARDED_BY(mutex_) = 0;
  std::list<Operation> in_flight_;  // lane thread
};

}  // namespace gangway::comm
