// SPDX-License-Identifier: MIT
// Keeps a copy of this worker's snapshots on another host and holds other workers' copies. So state
// survives a lost host. Copies travel one message at a time, behind the exchanges of training
// (worker/buddies/buddy_protocol.hpp). Each call names its thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/guarded.hpp"
#include "checkpoint/format/stored_tensor.hpp"
#include "checkpoint/snapshots/snapshot_memory.hpp"
#include "comm/lane.hpp"
#include "comm/transport/transport.hpp"
#include "worker/buddies/atomic_step.hpp"
#include "worker/buddies/buddy_protocol.hpp"

namespace gangway::worker {

/// A worker whose snapshots this worker copies.
struct CopiedWorker {
  int worker = 0;
  std::vector<checkpoint::TensorStretch> pieces;
};

struct BuddyCopiesSetup {
  comm::Transport& transport;
  comm::Lane& lane;
  checkpoint::SnapshotMemory& memory;  ///< this worker's snapshots
  checkpoint::SnapshotPlace place;     ///< of this worker's snapshots
  int buddy = 0;                       ///< the worker that holds their copies
  std::vector<CopiedWorker> wards;
  std::function<void(const std::string&)> say;  ///< one line; the lane's thread
  std::chrono::milliseconds timeout{60'000};
};

class BuddyCopies final : public comm::Background {
 public:
  /// Slots of a copy: one for the snapshot that all workers have, one to fill.
  static constexpr int kNumSlots = 2;

  /// Compute thread. @throws EnvironmentError if there is no room for the wards' copies
  explicit BuddyCopies(BuddyCopiesSetup setup);
  ~BuddyCopies() override;
  BuddyCopies(const BuddyCopies&) = delete;
  BuddyCopies& operator=(const BuddyCopies&) = delete;

  /// Requests a copy of the snapshot of `step`, which is not taken yet. Compute thread.
  void want(std::int64_t step);
  /// Reports that the snapshot was taken, or that there was no room for it. Lane thread.
  void snapshot_ended(std::int64_t step, bool taken);
  /// Protects the snapshot of `step`: all workers have it, and all buddies a copy. Any thread.
  void protect(std::int64_t step);
  /// Ends all copies; all workers call it. Compute thread. @throws CommError naming a silent worker
  void finish();

  /// Return the newest step that the buddy holds, and the newest that was tried. Any thread.
  [[nodiscard]] std::optional<std::int64_t> copied() const { return copied_.get(); }
  [[nodiscard]] std::optional<std::int64_t> tried() const { return tried_.get(); }

  bool advance(bool is_quiet) override;

 private:
  struct HeldCopy {
    HeldCopy(const BuddyCopiesSetup& setup, const CopiedWorker& ward);
    checkpoint::SnapshotMemory memory;
    CopyReceiver receiver;
  };
  [[nodiscard]] bool has_ended() const;

  BuddyCopiesSetup setup_;
  CopySender sender_;
  std::vector<std::unique_ptr<HeldCopy>> held_;
  Mutex mutex_;
  std::set<std::int64_t> wanted_ GANGWAY_GUARDED_BY(mutex_);
  AtomicStep protected_;
  AtomicStep copied_;
  AtomicStep tried_;
};

}  // namespace gangway::worker
