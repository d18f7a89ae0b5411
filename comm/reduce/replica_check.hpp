// SPDX-License-Identifier: MIT
// Checks that the replicas of one network's weights, one per host, hold the same bits. The workers
// of a host share the hashing. A tree sends all hashes to all workers, so all detect a difference
// at once. The compute thread hashes; the lane exchanges and compares. Allocates no heap memory
// after construction.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/arena/arena.hpp"
#include "comm/arena/arena_layout.hpp"
#include "comm/host/tree_collective.hpp"
#include "comm/lane.hpp"
#include "comm/transport/deadline.hpp"
#include "comm/transport/transport.hpp"

namespace gangway::comm {

struct ReplicaCheckSetup {
  int network = 0;                      ///< for message tags
  const ArenaLayout* layout = nullptr;  ///< both pointers outlive the check
  const Arena* weights = nullptr;
  std::vector<int> hosts;  ///< by worker; equal values: the weights are one memory
  std::chrono::milliseconds timeout{60'000};
  std::vector<ElementRange> parts = {};  ///< of the arena to compare; empty: all
};

class ReplicaCheck final : public Exchange {
 public:
  ReplicaCheck(Transport& transport, ReplicaCheckSetup setup);

  /// Whether there is more than one replica.
  [[nodiscard]] bool is_needed() const { return replicas_.size() > 1; }

  /// Hashes this worker's share of the weights and starts the lane's comparison. Compute thread;
  /// every worker calls it with equal `step`. @pre the previous check is over, and no thread writes
  /// the weights until this returns
  void begin(std::int64_t step);

  [[nodiscard]] Need needs() const override { return need_.load(std::memory_order_acquire); }
  /// @throws InvariantError naming step, tensor and the workers whose bits differ from the others;
  /// CommError naming a silent worker.
  bool advance() override;

 private:
  /// A tensor, or a part of a large tensor.
  struct Piece {
    std::size_t tensor = 0;  // index into names_
    ElementRange range;
  };
  /// The pieces that a worker hashes. hashes_ holds at `begin` the step, then one hash per piece.
  struct Share {
    std::vector<std::size_t> pieces;
    std::size_t begin = 0;
    [[nodiscard]] std::size_t size() const { return 1 + pieces.size(); }
  };
  void make_pieces();
  void make_shares();
  /// @throws CommError if the deadline has passed
  void require_time() const;
  void compare() const;
  [[nodiscard]] std::string difference(std::size_t piece) const;
  [[nodiscard]] std::span<std::uint64_t> hashes_of(int worker);
  [[nodiscard]] std::string describe(std::size_t replica) const;

  Transport& transport_;
  ReplicaCheckSetup setup_;
  std::vector<std::string> names_;
  std::vector<Piece> pieces_;
  std::vector<Share> shares_;                    // by worker
  std::vector<std::vector<int>> replicas_;       // workers of each replica
  std::vector<std::uint64_t> hashes_;            // all workers' shares
  std::vector<std::vector<std::size_t>> where_;  // by replica and piece: index into hashes_

  std::atomic<Need> need_ = Need::kNothing;
  std::int64_t step_ = 0;
  enum class CheckState { kNotBegun, kGathers, kBroadcasts };
  CheckState check_state_ = CheckState::kNotBegun;  // lane thread, as is all below
  TreeCollective tree_;
  std::vector<std::size_t> begins_;  // of the workers' shares, in bytes
  Deadline deadline_{std::chrono::milliseconds(0)};
};

}  // namespace gangway::comm
