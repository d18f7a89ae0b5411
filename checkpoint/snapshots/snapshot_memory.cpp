// SPDX-License-Identifier: MIT
#include "checkpoint/snapshots/snapshot_memory.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/guarded.hpp"
#include "base/hash.hpp"
#include "checkpoint/snapshots/snapshot_slot.hpp"
#include "checkpoint/snapshots/snapshot_slot_file.hpp"

namespace gangway::checkpoint {

namespace {

/// Block size: bytes are hashed, then copied while they are still in the L2 cache.
constexpr std::size_t kCopyBlock = std::size_t{128} << 10U;

/// Progress of a piece in the unfinished snapshot.
struct PieceProgress {
  Hasher hash;
  std::size_t copied = 0;
};

struct Slot {
  SlotFile file;
  SlotHeader* header = nullptr;  ///< in the mapped file
  std::byte* hashes = nullptr;
  std::byte* data = nullptr;
};

/// Content of a slot and the number of its pins.
struct SlotContent {
  bool is_whole = false;
  SnapshotId id{};
  int pins = 0;
};

}  // namespace

struct SnapshotMemory::State {
  Viewpoint viewpoint;
  std::vector<TensorStretch> pieces;
  SlotLayout layout;
  std::vector<PieceProgress> progress;
  std::vector<Slot> slots;
  std::optional<std::size_t> target;  ///< used by the filling thread only, as the next member
  SnapshotId target_id;

  Mutex mutex;
  std::vector<SlotContent> contents GANGWAY_GUARDED_BY(mutex);  ///< by slot
  std::optional<std::int64_t> protected_step GANGWAY_GUARDED_BY(mutex);

  /// Returns the slot to overwrite; null if all are needed.
  SlotContent* choose() GANGWAY_REQUIRES(mutex) {
    const SlotContent* newest = nullptr;
    bool is_protected_here = false;
    for (const SlotContent& slot : contents) {
      if (slot.is_whole && (newest == nullptr || slot.id > newest->id)) {
        newest = &slot;
      }
      is_protected_here = is_protected_here || (slot.is_whole && slot.id.step == protected_step);
    }
    SlotContent* chosen = nullptr;
    for (SlotContent& slot : contents) {
      const bool is_needed =
          slot.is_whole && (is_protected_here ? slot.id.step == protected_step : &slot == newest);
      if (slot.pins > 0 || is_needed) {
        continue;
      }
      const bool is_better = chosen == nullptr || (chosen->is_whole && !slot.is_whole) ||
                             (chosen->is_whole && slot.id < chosen->id);
      chosen = is_better ? &slot : chosen;
    }
    return chosen;
  }
};

SnapshotMemory::SnapshotMemory(SnapshotPlace place, std::vector<TensorStretch> pieces,
                               int num_slots)
    : state_(std::make_unique<State>()) {
  if (num_slots < kMinSlots || num_slots > kMaxSlots || place.worker < 0 ||
      place.worker >= place.num_workers) {
    throw InvariantError(fmt::format("snapshots of rank {} of {} in {} slots", place.worker + 1,
                                     place.num_workers, num_slots));
  }
  const std::string key = snapshot_key(place.run_directory, place.job_fingerprint, place.run_id);
  place.run_directory = std::filesystem::weakly_canonical(place.run_directory);
  const std::vector<std::byte> table = write_slot_table(place, pieces);
  state_->layout = lay_out_slot(pieces, table.size());
  state_->progress.resize(pieces.size());
  for (int index = 0; index < num_slots; ++index) {
    const SlotHeader header = make_slot_header(place, index, table, state_->layout, pieces.size());
    Slot slot{.file = SlotFile(place.folder / slot_name(key, place, index), header, table)};
    std::byte* const begin = slot.file.bytes().data();
    slot.header = reinterpret_cast<SlotHeader*>(begin);
    slot.hashes = begin + state_->layout.hashes_offset;
    slot.data = begin + state_->layout.data_offset;
    const auto id = slot.file.found();
    state_->contents.push_back({.is_whole = id.has_value(), .id = id.value_or(SnapshotId{})});
    state_->slots.push_back(std::move(slot));
  }
  state_->viewpoint = viewpoint_on(place.run_directory);
  state_->pieces = std::move(pieces);
}

SnapshotMemory::~SnapshotMemory() = default;

const std::vector<TensorStretch>& SnapshotMemory::pieces() const { return state_->pieces; }

std::size_t SnapshotMemory::data_bytes() const { return state_->layout.data_bytes; }

bool SnapshotMemory::begin(SnapshotId id) noexcept {
  abandon();
  const MutexLock lock(state_->mutex);
  SlotContent* const content = state_->choose();
  if (content == nullptr) {
    return false;
  }
  content->is_whole = false;
  state_->target = static_cast<std::size_t>(content - state_->contents.data());
  std::atomic_ref(state_->slots[*state_->target].header->state).store(0, std::memory_order_relaxed);
  // Clear the state before any new byte is visible, even if this process dies.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (PieceProgress& progress : state_->progress) {
    progress.copied = 0;
    progress.hash.reset();
  }
  state_->target_id = id;
  return true;
}

void SnapshotMemory::copy(std::size_t piece, std::span<const std::byte> source) {
  PieceProgress& progress = state_->progress.at(piece);
  if (!state_->target || source.size() > state_->pieces[piece].bytes() - progress.copied) {
    throw InvariantError(fmt::format("snapshot piece '{}': {} bytes after {} of {}",
                                     state_->pieces[piece].name, source.size(), progress.copied,
                                     state_->pieces[piece].bytes()));
  }
  std::byte* const target = state_->slots[*state_->target].data + state_->layout.offsets[piece];
  while (!source.empty()) {
    const auto block = source.first(std::min(source.size(), kCopyBlock));
    // Hash the source, so that a later read detects a byte lost in the copy.
    progress.hash.update(block);
    std::memcpy(target + progress.copied, block.data(), block.size());
    progress.copied += block.size();
    source = source.subspan(block.size());
  }
}

PieceHash SnapshotMemory::hash(std::size_t piece) const {
  return state_->progress.at(piece).hash.hash();
}

void SnapshotMemory::complete() {
  if (!state_->target) {
    throw InvariantError("a snapshot was completed that was not begun");
  }
  const Slot& slot = state_->slots[*state_->target];
  for (std::size_t piece = 0; piece < state_->pieces.size(); ++piece) {
    const PieceProgress& progress = state_->progress[piece];
    if (progress.copied != state_->pieces[piece].bytes()) {
      throw InvariantError(fmt::format("snapshot of step {}: piece '{}' has {} of {} bytes",
                                       state_->target_id.step, state_->pieces[piece].name,
                                       progress.copied, state_->pieces[piece].bytes()));
    }
    const PieceHash hash = progress.hash.hash();
    std::memcpy(slot.hashes + piece * sizeof hash, &hash, sizeof hash);
  }
  slot.header->step = state_->target_id.step;
  slot.header->incarnation = state_->target_id.incarnation;
  slot.header->epoch = state_->target_id.epoch;
  slot.header->viewpoint = state_->viewpoint;
  slot.header->seal =
      seal_of(*slot.header, {slot.hashes, state_->pieces.size() * sizeof(PieceHash)});
  // Release order: a reader sees the complete slot after this process has died.
  std::atomic_ref(slot.header->state).store(kSlotWhole, std::memory_order_release);
  const MutexLock lock(state_->mutex);
  SlotContent& content = state_->contents[*state_->target];
  content.is_whole = true;
  content.id = state_->target_id;
  state_->target.reset();
}

void SnapshotMemory::abandon() noexcept { state_->target.reset(); }

void SnapshotMemory::protect(std::int64_t step) noexcept {
  const MutexLock lock(state_->mutex);
  state_->protected_step = step;
}

std::optional<PinnedSnapshot> SnapshotMemory::pin(std::int64_t step) {
  const MutexLock lock(state_->mutex);
  SlotContent* found = nullptr;
  for (SlotContent& slot : state_->contents) {
    if (slot.is_whole && slot.id.step == step && (found == nullptr || slot.id > found->id)) {
      found = &slot;
    }
  }
  if (found == nullptr) {
    return std::nullopt;
  }
  ++found->pins;
  return PinnedSnapshot(this, static_cast<std::size_t>(found - state_->contents.data()), found->id);
}

void SnapshotMemory::remove() noexcept {
  for (Slot& slot : state_->slots) {
    slot.file.remove_name();
  }
}

PinnedSnapshot::PinnedSnapshot(PinnedSnapshot&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), slot_(other.slot_), id_(other.id_) {}

PinnedSnapshot::~PinnedSnapshot() {
  if (memory_ != nullptr) {
    const MutexLock lock(memory_->state_->mutex);
    --memory_->state_->contents[slot_].pins;
  }
}

std::span<const std::byte> PinnedSnapshot::bytes(std::size_t piece) const {
  const SnapshotMemory::State& state = *memory_->state_;
  return {state.slots[slot_].data + state.layout.offsets.at(piece), state.pieces.at(piece).bytes()};
}

PieceHash PinnedSnapshot::hash(std::size_t piece) const {
  PieceHash hash;
  std::memcpy(&hash, memory_->state_->slots[slot_].hashes + piece * sizeof hash, sizeof hash);
  return hash;
}

std::vector<PieceRecord> PinnedSnapshot::records() const {
  std::vector<PieceRecord> records;
  for (std::size_t index = 0; index < memory_->pieces().size(); ++index) {
    records.push_back(
        {.of = memory_->pieces()[index], .bytes = bytes(index), .xxh3_128 = hash(index).hex()});
  }
  return records;
}

}  // namespace gangway::checkpoint
