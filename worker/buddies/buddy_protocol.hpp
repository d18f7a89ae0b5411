// SPDX-License-Identifier: MIT
// Protocol that copies a snapshot to its buddy on another host: the messages, and each end as a
// state machine that never waits. Lane thread.
//
//   owner → buddy   Begin, Data…, Hashes; then the owner awaits the answer.   Bye, once, at the end
//   buddy → owner   the answer: held, no room, or damaged (a hash does not match the owner's)
//
// Data are the pieces in the order of SnapshotMemory::pieces(), one after the other.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/format/stored_tensor.hpp"
#include "checkpoint/snapshots/snapshot_memory.hpp"
#include "comm/transport/transport.hpp"

namespace gangway::worker {

/// Bytes of data in a message; at most, it delays a gradient by 2 ms at 1 Gbit/s.
inline constexpr std::size_t kCopyChunk = std::size_t{256} << 10U;
/// Time between two data messages. At 1 Gbit/s the socket then holds at most one of them ahead of
/// the next gradient.
inline constexpr std::chrono::milliseconds kCopyPace{4};
/// Longest wait for a quiet moment; at worst a copy takes 0.5 % of 1 Gbit/s from gradients.
inline constexpr std::chrono::milliseconds kCopyPatience{400};

struct CopyHeader {
  enum Kind : std::uint64_t { kBegin = 1, kData, kHashes, kBye };
  std::uint64_t kind = 0;
  std::int64_t step = 0;
  std::int64_t incarnation = 0;
  std::int64_t epoch = 0;
  std::uint64_t bytes = 0;  ///< that follow
};

struct CopyAnswer {
  enum Kind : std::uint64_t { kHeld = 1, kNoRoom, kDamaged };
  std::uint64_t kind = 0;
  std::int64_t step = 0;
};

/// Points to the next byte to copy within the pieces.
class PieceCursor {
 public:
  explicit PieceCursor(const std::vector<checkpoint::TensorStretch>& pieces) : pieces_(&pieces) {}
  void reset() { piece_ = offset_ = 0; }
  [[nodiscard]] bool is_at_end() const { return piece_ == pieces_->size(); }
  /// Calls `use(piece, offset, bytes)` for the next `bytes`, split by piece, up to the end.
  void take(std::size_t bytes,
            const std::function<void(std::size_t, std::size_t, std::size_t)>& use);

 private:
  const std::vector<checkpoint::TensorStretch>* pieces_;
  std::size_t piece_ = 0;
  std::size_t offset_ = 0;
};

/// The owner's end.
class CopySender {
 public:
  using Clock = std::chrono::steady_clock;

  /// Both outlive this. @param say  logs a line about a failure
  CopySender(comm::Transport& transport, int buddy, checkpoint::SnapshotMemory& memory,
             std::function<void(const std::string&)> say,
             std::function<Clock::time_point()> now = Clock::now);

  /// Pins the complete snapshot of `step` and begins to copy it, unless a copy is unfinished.
  void want(std::int64_t step);
  /// Unpins the copied snapshot if it is not newer than `step`, which all workers now have.
  void release(std::int64_t step);
  /// Ends copying: sends Bye after the current message.
  void close() { is_closing_ = true; }

  /// Returns true if it made progress. @throws CommError
  bool advance(bool is_quiet);
  [[nodiscard]] bool has_ended() const { return has_said_bye_ && open_.empty(); }
  /// Return the newest step that the buddy holds, and the newest that was tried.
  [[nodiscard]] std::optional<std::int64_t> copied() const { return copied_; }
  [[nodiscard]] std::optional<std::int64_t> tried() const { return tried_; }

 private:
  [[nodiscard]] bool poll_open();
  bool take_answer();
  /// Returns whether send_next() would send data.
  [[nodiscard]] bool is_amid_data() const { return has_begun_ && !cursor_.is_at_end(); }
  void send_next();
  void send(CopyHeader::Kind kind, std::size_t bytes);
  void restart();

  comm::Transport& transport_;
  int buddy_;
  checkpoint::SnapshotMemory& memory_;
  std::function<void(const std::string&)> say_;
  std::function<Clock::time_point()> now_;
  PieceCursor cursor_;
  std::vector<std::byte> buffer_;
  std::optional<checkpoint::PinnedSnapshot> current_;  ///< being copied, or copied and kept
  bool is_copied_ = false;                             ///< whether current_ is copied
  bool has_begun_ = false;
  int tries_ = 0;
  CopyHeader header_;
  CopyAnswer answer_;
  std::vector<comm::RequestId> open_;
  std::optional<comm::RequestId> answering_;
  Clock::time_point last_data_{};
  std::optional<std::int64_t> copied_;
  std::optional<std::int64_t> tried_;
  bool is_closing_ = false;
  bool has_said_bye_ = false;
};

/// The buddy's end.
class CopyReceiver {
 public:
  /// Both outlive this.
  CopyReceiver(comm::Transport& transport, int owner, checkpoint::SnapshotMemory& memory);

  /// Returns true if it made progress. @throws CommError if the owner breaks the protocol
  bool advance();
  [[nodiscard]] bool has_ended() const { return has_ended_; }

 private:
  void take_header();
  void take_bytes();
  void answer(CopyAnswer::Kind kind);

  comm::Transport& transport_;
  int owner_;
  checkpoint::SnapshotMemory& memory_;
  PieceCursor cursor_;
  std::vector<std::byte> buffer_;
  CopyHeader header_;
  CopyAnswer answer_;
  std::optional<comm::RequestId> receiving_;
  std::optional<comm::RequestId> answering_;
  bool is_inside_ = false;  ///< the header has arrived, its bytes have not
  bool has_room_ = false;
  bool has_ended_ = false;
};

}  // namespace gangway::worker
