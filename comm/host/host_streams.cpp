// SPDX-License-Identifier: MIT
#include "comm/host/host_streams.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "comm/host/shared_control_block.hpp"
#include "comm/transport/peer_error.hpp"

namespace gangway::comm {

/// One worker's record of its streams to and from one peer. Only that worker writes it.
struct alignas(kCacheLine) HostStreams::Entry {
  std::int32_t worker;   // the peer
  std::uint64_t offset;  // of the ring to the peer, from the directory
  std::uint64_t capacity;
  alignas(kCacheLine) std::atomic<std::uint64_t> written;  // bytes sent to the peer since the start
  alignas(kCacheLine) std::atomic<std::uint64_t> taken;    // bytes received from the peer
};

/// Lies at the start of a worker's memory; the entries follow, then the rings.
struct alignas(kCacheLine) HostStreams::Directory {
  std::uint64_t num_entries;

  [[nodiscard]] std::span<Entry> entries() {
    return {reinterpret_cast<Entry*>(this + 1), num_entries};
  }
  [[nodiscard]] std::span<const Entry> entries() const {
    return {reinterpret_cast<const Entry*>(this + 1), num_entries};
  }
  [[nodiscard]] std::byte* at(std::uint64_t offset) {
    return reinterpret_cast<std::byte*>(this) + offset;
  }
  [[nodiscard]] const std::byte* at(std::uint64_t offset) const {
    return reinterpret_cast<const std::byte*>(this) + offset;
  }
};

namespace {

/// Calls `copy(place in the ring, place in the piece, bytes)` for each contiguous stretch of a
/// piece that begins at stream byte `position`: two if the piece wraps around the ring's end.
template <typename Copy>
void for_each_stretch(std::size_t capacity, std::uint64_t position, std::size_t bytes,
                      const Copy& copy) {
  const auto place = static_cast<std::size_t>(position % capacity);
  const std::size_t first = std::min(bytes, capacity - place);
  copy(place, std::size_t{0}, first);
  if (first < bytes) {
    copy(std::size_t{0}, first, bytes - first);
  }
}

}  // namespace

StreamMemory::StreamMemory(HostMemory& memory, const std::vector<int>& peers, std::size_t capacity)
    : index_(memory.num_own()), arena_([&] {
        const std::size_t header =
            sizeof(HostStreams::Directory) + peers.size() * sizeof(HostStreams::Entry);
        const std::size_t bytes = peers.empty() ? 0 : header + peers.size() * capacity;
        return memory.allocate_own((bytes + sizeof(float) - 1) / sizeof(float));
      }()) {
  if (peers.empty()) {
    return;
  }
  auto* const directory = reinterpret_cast<HostStreams::Directory*>(arena_.data());
  directory->num_entries = peers.size();
  std::uint64_t offset = sizeof(HostStreams::Directory) + peers.size() * sizeof(HostStreams::Entry);
  for (std::size_t i = 0; i < peers.size(); ++i, offset += capacity) {
    HostStreams::Entry& entry = directory->entries()[i];
    entry.worker = peers[i];
    entry.offset = offset;
    entry.capacity = capacity;
  }
}

const HostStreams::Entry* HostStreams::find(const Directory& directory, int worker) {
  const std::span<const Entry> entries = directory.entries();
  const auto found = std::ranges::find(entries, worker, &Entry::worker);
  return found == entries.end() ? nullptr : &*found;
}

HostStreams::HostStreams(StreamMemory& own, const HostGroup& group) : group_(group) {
  auto* const mine = reinterpret_cast<Directory*>(own.arena_.data());
  if (mine == nullptr) {
    return;
  }
  const int self = group.members()[group.position()];
  for (Entry& entry : mine->entries()) {
    const auto member = std::ranges::find(group.members(), entry.worker);
    const Directory* theirs = nullptr;
    if (member != group.members().end()) {
      const auto place = static_cast<std::size_t>(member - group.members().begin());
      theirs = reinterpret_cast<const Directory*>(group.own_memory(place, own.index_));
    }
    const Entry* const other = theirs == nullptr ? nullptr : find(*theirs, self);
    if (other == nullptr) {
      throw InvariantError(
          fmt::format("rank {} has a stream to rank {}, which has none to it; please report this",
                      rank_of(self), rank_of(entry.worker)));
    }
    ends_[entry.worker] = {.own = &entry,
                           .other = other,
                           .out = {mine->at(entry.offset), entry.capacity},
                           .in = {theirs->at(other->offset), other->capacity}};
  }
}

std::size_t HostStreams::write(int worker, std::span<const std::byte> bytes) {
  const Ends& ends = ends_.at(worker);
  const std::uint64_t written = ends.own->written.load(std::memory_order_relaxed);
  // Bytes that the peer has taken may be overwritten.
  const std::uint64_t under_way = written - ends.other->taken.load(std::memory_order_acquire);
  const std::size_t count = std::min(bytes.size(), ends.out.size() - under_way);
  if (count == 0) {
    return 0;
  }
  for_each_stretch(ends.out.size(), written, count,
                   [&](std::size_t place, std::size_t from, std::size_t size) {
                     std::memcpy(ends.out.data() + place, bytes.data() + from, size);
                   });
  ends.own->written.store(written + count, std::memory_order_release);
  return count;
}

std::size_t HostStreams::read(int worker, std::span<std::byte> bytes) {
  const Ends& ends = ends_.at(worker);
  const std::uint64_t taken = ends.own->taken.load(std::memory_order_relaxed);
  const std::uint64_t there = ends.other->written.load(std::memory_order_acquire) - taken;
  if (there > ends.in.size()) {
    throw PeerError(WorkerIndex(worker),
                    fmt::format("rank {} wrote more into a stream than there is room "
                                "for; were the workers built from one job?",
                                rank_of(WorkerIndex(worker))));
  }
  const std::size_t count = std::min<std::size_t>(bytes.size(), there);
  if (count == 0) {
    return 0;
  }
  for_each_stretch(ends.in.size(), taken, count,
                   [&](std::size_t place, std::size_t to, std::size_t size) {
                     std::memcpy(bytes.data() + to, ends.in.data() + place, size);
                   });
  ends.own->taken.store(taken + count, std::memory_order_release);
  return count;
}

}  // namespace gangway::comm
