// SPDX-License-Identifier: MIT
// Tensors from device to device, between this worker and others, each way between two of them over
// a communicator and a stream of its own: a receive that waits for its sender holds up nothing but
// what comes behind it from there. NCCL pairs the n-th send of an edge with its n-th receive, so
// that both ends name the tensors of an edge in one order; sizes they know beforehand.
//
//   send      compute | ready      edge: wait until it is ready | ncclSend | done: memory let go of
//   receive   compute | free       edge: wait until it is free  | ncclRecv | done
//   await     compute: wait until it is done
//
// The lane launches in the order in which it was asked. No launch waits for another worker: the
// edges were connected before (comm/nccl/connect_peers.hpp).
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

class TensorEdges final : public Exchange {
 public:
  /// From whom to whom, by their numbers among all workers.
  using Edge = std::pair<int, int>;
  struct Setup {
    int worker = 0;
    /// By edge of this worker; in each session the sender is worker 0, the receiver worker 1.
    /// Outlive this.
    std::map<Edge, NcclSession*> sessions = {};
    cudaStream_t compute = nullptr;  ///< outlives this
  };
  /// Device memory of a tensor, and what keeps it alive.
  struct Memory {
    void* bytes = nullptr;
    std::size_t size = 0;  ///< not 0
    std::shared_ptr<const void> owner;
  };
  using Ticket = std::uint64_t;
  static constexpr std::size_t kMostAhead = 2;

  /// @param lane  to which this is attached; outlives it
  TensorEdges(Lane& lane, Setup setup);
  /// Waits for what is launched, unless a session has failed.
  ~TensorEdges() override;
  TensorEdges(const TensorEdges&) = delete;
  TensorEdges& operator=(const TensorEdges&) = delete;

  // --- compute thread ---

  /// What the compute stream has made of it by now goes to `peer`. Never waits.
  void send(int peer, Memory memory);
  /// What comes next from `peer` goes there, when the compute stream has done what it was asked for
  /// by now. Never waits.
  [[nodiscard]] Ticket receive(int peer, Memory memory);
  /// Has the compute stream wait until it is there; waits itself until it is launched, and until
  /// the tensor is there that was awaited kMostAhead before: a host that ran further ahead of its
  /// device would have memory for what backwards of micro-batches need that are not computed yet.
  /// Once.
  void await(Ticket ticket);
  /// Until all that was sent has left.
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
    CudaEvent before;                 // on the compute stream
    std::shared_ptr<CudaEvent> done;  // on the edge's; shared with who awaits it
  };

  Ticket submit(Direction direction, Edge edge, Memory memory);
  bool launch_next();
  /// Lets go of the memory of what is done.
  bool let_go();

  Lane& lane_;
  Setup setup_;
  std::atomic<int> num_under_way_ = 0;              // asked for and not over, awaited or not
  Ticket next_ = 0;                                 // compute thread
  std::deque<std::shared_ptr<CudaEvent>> awaited_;  // compute thread; the last kMostAhead
  Mutex mutex_;
  std::deque<Operation> asked_ GANGWAY_GUARDED_BY(mutex_);
  /// Of receives that are not yet awaited.
  std::map<Ticket, std::shared_ptr<CudaEvent>> launched_ GANGWAY_GUARDED_BY(mutex_);
  int num_unsent_ GANGWAY_GUARDED_BY(mutex_) = 0;
  std::list<Operation> in_flight_;  // lane
};

}  // namespace gangway::comm
