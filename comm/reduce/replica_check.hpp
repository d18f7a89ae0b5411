// SPDX-License-Identifier: MIT
// Whether the replicas of one network's weights, one a host, still hold the same bits. The workers
// of a host share the hashing; all hashes go to all workers, over a tree, so that all know at once.
// The compute thread only hashes; the talk and the comparison are the lane's. No heap allocation
// once made.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/arena/arena.hpp"
#include "comm/arena/arena_layout.hpp"
#include "comm/host/tree_talk.hpp"
#include "comm/lane.hpp"
#include "comm/transport/deadline.hpp"
#include "comm/transport/transport.hpp"

namespace gangway::comm {

class ReplicaCheck final : public Exchange {
 public:
  struct Setup {
    int network = 0;                      ///< for tags
    const ArenaLayout* layout = nullptr;  ///< both pointers outlive the check
    const Arena* weights = nullptr;
    std::vector<int> hosts;  ///< by worker: equal where the weights are one memory
    std::chrono::milliseconds timeout{60'000};
    std::vector<ElementRange> parts = {};  ///< of the arena that are compared; empty: all
  };
  ReplicaCheck(Transport& transport, Setup setup);

  /// Whether there is more than one replica.
  [[nodiscard]] bool is_needed() const { return replicas_.size() > 1; }

  /// Hashes this worker's share of the weights, and has the lane compare. Compute thread; every
  /// worker calls it with equal `step`. @pre the check before is over, and nobody writes the
  /// weights until this returns
  void begin(std::int64_t step);

  [[nodiscard]] Need needs() const override { return need_.load(std::memory_order_acquire); }
  /// @throws InvariantError naming step, tensor and the workers whose bits are not the others';
  /// CommError naming a silent worker.
  bool advance() override;

 private:
  /// A tensor, or a part of a large one.
  struct Piece {
    std::size_t tensor = 0;  // index into names_
    ElementRange range;
  };
  /// What a worker hashes, and where its hashes are in hashes_: first the step, then a hash a
  /// piece.
  struct Share {
    std::vector<std::size_t> pieces;
    std::size_t begin = 0;
    [[nodiscard]] std::size_t size() const { return 1 + pieces.size(); }
  };
  void make_pieces();
  void make_shares();
  /// @throws CommError
  void require_time() const;
  void compare() const;
  [[nodiscard]] std::string difference(std::size_t piece) const;
  [[nodiscard]] std::span<std::uint64_t> hashes_of(int worker);
  [[nodiscard]] std::string describe(std::size_t replica) const;

  Transport& transport_;
  Setup setup_;
  std::vector<std::string> names_;
  std::vector<Piece> pieces_;
  std::vector<Share> shares_;                    // by worker
  std::vector<std::vector<int>> replicas_;       // workers of each
  std::vector<std::uint64_t> hashes_;            // of all workers' shares
  std::vector<std::vector<std::size_t>> where_;  // by replica and piece: index into hashes_

  std::atomic<Need> need_ = Need::kNothing;
  std::int64_t step_ = 0;
  enum class Talk { kNotBegun, kGathers, kTells };
  Talk talk_ = Talk::kNotBegun;  // lane thread, as is all below
  TreeTalk tree_;
  std::vector<std::size_t> begins_;  // of the workers' shares, in bytes
  Deadline deadline_{std::chrono::milliseconds(0)};
};

}  // namespace gangway::comm
