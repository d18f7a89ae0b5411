// SPDX-License-Identifier: MIT
#include "worker/state/load_from_snapshot.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "checkpoint/snapshots/snapshot_files.hpp"
#include "comm/transport/byte_streams.hpp"
#include "comm/transport/peer_error.hpp"
#include "run/snapshot_id.hpp"
#include "worker/state/owned_state.hpp"
#include "worker/state/snapshot_taker.hpp"

namespace gangway::worker {
namespace {

using checkpoint::PieceHash;
using checkpoint::SnapshotFile;
using checkpoint::TensorStretch;

/// Bytes of a message between hosts: large enough for bandwidth, small enough for its queue.
constexpr std::size_t kMessageBytes = std::size_t{4} << 20U;

/// Elements that a worker needs, by tensor name.
struct Wanted {
  TensorStretch piece;
  std::span<std::byte> memory;  // set for this worker only
};
using WantedByName = std::map<std::string, std::vector<std::size_t>, std::less<>>;

/// The needs of one worker: its own slices, and the counts of updates, which all workers need.
struct Wishes {
  std::vector<Wanted> list;
  WantedByName by_name;

  Wishes(std::span<NetworkState* const> networks, int worker) {
    for (const OwnedPiece& own : owned_pieces(networks, worker)) {
      add(own.stored, std::as_writable_bytes(own.values()));
    }
    for (NetworkState* network : networks) {
      for (const CountsPiece& piece : counts_pieces(*network, network->counts)) {
        add(piece.stored, std::as_writable_bytes(piece.values));
      }
    }
  }

 private:
  void add(const TensorStretch& piece, std::span<std::byte> memory) {
    by_name[piece.name].push_back(list.size());
    list.push_back({piece, memory});
  }
};

/// Elements [begin, end) of a tensor in a piece of a part, and in a worker's wish.
struct Overlap {
  int part = 0;
  std::size_t piece = 0;
  std::size_t wish = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Indices of the words of a message.
enum Word : std::size_t { kWish, kBegin, kEnd, kHashLow, kHashHigh, kPart };
/// Value of kWish: the part is damaged, and the rest of it does not come.
constexpr std::uint64_t kDamaged = ~std::uint64_t{0};

/// A worker's part of the snapshot on this host: the original and copies of equal layout.
class HeldPart {
 public:
  void add(const std::filesystem::path& file) {
    try {
      SnapshotFile copy(file, checkpoint::VerifyPieces::kLater);
      if (copies_.empty() || copy.pieces() == copies_.front().pieces()) {
        copies_.push_back(std::move(copy));
      }
    } catch (const CheckpointError&) {
      // It was complete when found, and has since been overwritten or removed.
    }
  }
  [[nodiscard]] const std::vector<TensorStretch>& pieces() const { return copies_.at(0).pieces(); }
  [[nodiscard]] bool is_empty() const { return copies_.empty(); }

  /// Returns a piece of a copy that matches its hash. @throws CheckpointError if there is none.
  std::span<const std::byte> bytes(std::size_t piece) {
    const auto known = good_pieces_.find(piece);
    if (known != good_pieces_.end()) {
      return copies_[known->second].bytes(piece);
    }
    for (std::size_t i = 0; i < copies_.size(); ++i) {
      try {
        copies_[i].verify(piece);
        good_pieces_[piece] = i;
        return copies_[i].bytes(piece);
      } catch (const CheckpointError&) {
        if (i + 1 == copies_.size()) {
          throw;
        }
      }
    }
    throw CheckpointError("a part of a snapshot that this host does not have");
  }

 private:
  std::vector<SnapshotFile> copies_;
  std::map<std::size_t, std::size_t> good_pieces_;  // by piece: index of a verified copy
};

class SnapshotLoader final : public comm::StreamEnds {
 public:
  SnapshotLoader(const SnapshotStore& store, const messages::Begin& begin, const StateLoad& load)
      : load_(load),
        own_worker_(load.transport.worker()),
        holders_(begin.snapshot->holders),
        own_(load.networks, own_worker_),
        parts_(holders_.size()) {
    for (const auto& entry : checkpoint::find_snapshots(store.folders, store.key)) {
      if (entry.id == begin.snapshot->id) {
        parts_[static_cast<std::size_t>(entry.worker)].add(entry.file);
      }
    }
  }

  LoadOutcome run() {
    std::vector<int> from;
    std::vector<int> to;
    for (int peer = 0; peer < load_.transport.num_workers(); ++peer) {
      if (peer != own_worker_ && serves(own_worker_, peer)) {
        to.push_back(peer);
        outgoing_[peer] = overlaps(peer, Wishes(load_.networks, peer));
      }
      if (peer != own_worker_ && serves(peer, own_worker_)) {
        from.push_back(peer);
      }
    }
    take_own();
    load_.lane.wait(load_.lane.submit(
        [&] { comm::exchange_streams(load_.transport, to, from, *this, load_.timeout); }));
    return outcome();
  }

  std::optional<comm::StreamMessage> next(int peer) override {
    std::vector<Overlap>& rest = outgoing_.at(peer);
    if (rest.empty()) {
      return std::nullopt;
    }
    Overlap& overlap = rest.back();
    const auto bytes = bytes_of(overlap);
    if (!bytes) {
      const int part = overlap.part;
      std::erase_if(rest, [part](const Overlap& one) { return one.part == part; });
      return comm::StreamMessage{.words = {kDamaged, 0, 0, 0, 0, static_cast<std::uint64_t>(part)},
                                 .bytes = {}};
    }
    const std::size_t item = bytes->size() / (overlap.end - overlap.begin);
    const std::uint64_t most = kMessageBytes / item;
    const std::uint64_t begin = overlap.begin;
    const std::uint64_t end = std::min(overlap.end, begin + most);
    const auto message = bytes->first((end - begin) * item);
    const PieceHash hash = hash_bytes(message);
    const comm::StreamWords words{
        overlap.wish, begin, end, hash.low, hash.high, static_cast<std::uint64_t>(overlap.part)};
    overlap.begin = end;
    if (overlap.begin == overlap.end) {
      rest.pop_back();
    }
    return comm::StreamMessage{.words = words, .bytes = message};
  }

  std::span<std::byte> place(int peer, const comm::StreamWords& words, std::size_t bytes) override {
    const auto memory = memory_of(words);
    if (memory.size() != bytes) {
      throw CommError(
          fmt::format("rank {} sent state that was not asked for: start all ranks "
                      "from one build",
                      rank_of(WorkerIndex(peer))));
    }
    return memory;
  }

  void arrived(int peer, const comm::StreamWords& words) override {
    if (words[kWish] == kDamaged) {
      is_incomplete_ = true;  // its holder reports why
      return;
    }
    const auto memory = memory_of(words);
    filled_ += memory.size();
    if (hash_bytes(memory) != PieceHash{words[kHashLow], words[kHashHigh]}) {
      fail(fmt::format("'{}' of the snapshot arrived damaged from rank {}",
                       own_.list[words[kWish]].piece.name, rank_of(WorkerIndex(peer))),
           static_cast<int>(words[kPart]), peer);
    }
  }

 private:
  /// Returns the worker that sends `part` to `worker`: itself if its host has the part.
  [[nodiscard]] int server(int part, int worker) const {
    const std::vector<WorkerIndex>& holders = holders_[static_cast<std::size_t>(part)];
    const bool is_here = std::ranges::find(holders, WorkerIndex(worker)) != holders.end();
    return is_here ? worker : holders.front().value();
  }
  [[nodiscard]] bool serves(int server_worker, int worker) const {
    for (int part = 0; part < static_cast<int>(holders_.size()); ++part) {
      if (server(part, worker) == server_worker) {
        return true;
      }
    }
    return false;
  }

  /// Returns the overlaps of `peer`'s wishes with the parts that this worker sends it.
  std::vector<Overlap> overlaps(int peer, const Wishes& wishes) {
    std::vector<Overlap> found;
    for (int part = 0; part < static_cast<int>(parts_.size()); ++part) {
      if (server(part, peer) != own_worker_) {
        continue;
      }
      const HeldPart& held = parts_[static_cast<std::size_t>(part)];
      if (held.is_empty()) {
        found.push_back({.part = part});  // bytes_of() reports the damage
        continue;
      }
      for (std::size_t i = 0; i < held.pieces().size(); ++i) {
        add_overlaps(part, i, held.pieces()[i], wishes, found);
      }
    }
    return found;
  }
  void add_overlaps(int part, std::size_t index, const TensorStretch& piece, const Wishes& wishes,
                    std::vector<Overlap>& found) {
    const auto wished = wishes.by_name.find(piece.name);
    if (wished == wishes.by_name.end()) {
      return;
    }
    for (const std::size_t wish : wished->second) {
      const TensorStretch& wanted = wishes.list[wish].piece;
      if (wanted.type != piece.type || wanted.order != piece.order || wanted.shape != piece.shape) {
        fail(fmt::format("the snapshot's '{}' has another shape, type or order than this job's",
                         piece.name),
             part, own_worker_);
        return;
      }
      const std::uint64_t begin = std::max(wanted.begin, piece.begin);
      const std::uint64_t end = std::min(wanted.end, piece.end);
      if (begin < end) {
        found.push_back({part, index, wish, begin, end});
      }
    }
  }

  void take_own() {
    for (const Overlap& overlap : overlaps(own_worker_, own_)) {
      if (const auto bytes = bytes_of(overlap)) {
        const auto memory = memory_of({overlap.wish, overlap.begin, overlap.end});
        std::memcpy(memory.data(), bytes->data(), memory.size());
        filled_ += memory.size();
      }
    }
  }

  /// Returns verified bytes; nothing if they are damaged, and records the damage.
  std::optional<std::span<const std::byte>> bytes_of(const Overlap& overlap) {
    HeldPart& held = parts_[static_cast<std::size_t>(overlap.part)];
    if (held.is_empty()) {
      fail(fmt::format("rank {}'s part is gone from this host", comm::rank_of(overlap.part)),
           overlap.part, own_worker_);
      return std::nullopt;
    }
    const TensorStretch& piece = held.pieces()[overlap.piece];
    const std::size_t item = checkpoint::item_size(piece.type);
    try {
      return held.bytes(overlap.piece)
          .subspan((overlap.begin - piece.begin) * item, (overlap.end - overlap.begin) * item);
    } catch (const CheckpointError& error) {
      fail(error.what(), overlap.part, own_worker_);
      return std::nullopt;
    }
  }

  /// Returns empty memory if the words name no wish.
  [[nodiscard]] std::span<std::byte> memory_of(const comm::StreamWords& words) const {
    if (words[kWish] >= own_.list.size()) {
      return {};
    }
    const Wanted& wanted = own_.list[words[kWish]];
    const bool is_within = words[kBegin] >= wanted.piece.begin && words[kBegin] <= words[kEnd] &&
                           words[kEnd] <= wanted.piece.end;
    const std::size_t item = checkpoint::item_size(wanted.piece.type);
    return is_within ? wanted.memory.subspan((words[kBegin] - wanted.piece.begin) * item,
                                             (words[kEnd] - words[kBegin]) * item)
                     : std::span<std::byte>();
  }

  void fail(const std::string& reason, int part, int holder) {
    if (!failure_) {
      failure_ =
          messages::Unloadable{.reason = reason, .part = part, .holder = WorkerIndex(holder)};
    }
  }

  LoadOutcome outcome() {
    std::size_t wanted = 0;
    for (const Wanted& one : own_.list) {
      wanted += one.memory.size();
    }
    if (filled_ != wanted && !is_incomplete_) {
      fail("the parts do not make up the whole state", 0, own_worker_);
    }
    return {.is_whole = filled_ == wanted && !failure_, .failure = failure_};
  }

  const StateLoad& load_;
  int own_worker_;
  const std::vector<std::vector<WorkerIndex>>& holders_;  // by part
  Wishes own_;
  std::vector<HeldPart> parts_;
  std::map<int, std::vector<Overlap>> outgoing_;  // by peer; the next one last
  std::size_t filled_ = 0;                        // bytes of own wishes
  bool is_incomplete_ = false;                    // because of another worker
  std::optional<messages::Unloadable> failure_;   // first failure
};

}  // namespace

messages::Inventory found_parts(const SnapshotStore& store) {
  std::set<std::pair<SnapshotId, int>> found;
  for (const auto& entry : checkpoint::find_snapshots(store.folders, store.key)) {
    found.emplace(entry.id, entry.worker);
  }
  messages::Inventory inventory;
  for (const auto& [id, worker] : found) {
    inventory.parts.push_back({.of = id, .worker = worker});
  }
  return inventory;
}

LoadOutcome load_snapshot(const SnapshotStore& store, const messages::Begin& begin,
                          const StateLoad& load) {
  return SnapshotLoader(store, begin, load).run();
}

}  // namespace gangway::worker
