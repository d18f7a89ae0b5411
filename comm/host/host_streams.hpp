// SPDX-License-Identifier: MIT
// Streams of bytes between workers of one host, one for each ordered pair that asks for it: a ring
// in the sender's own memory, which the receiver reads and nobody else writes. Room for them is
// laid out with the rest of the host's memory (comm/host/host_memory.hpp), and so leaves nothing
// behind. Laid out and met on the compute thread, used by the lane's. Used by
// comm/tensors/tensor_channel.hpp.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "comm/arena/arena.hpp"
#include "comm/host/host_group.hpp"
#include "comm/host/host_memory.hpp"

namespace gangway::comm {

/// Of one stream. What is longer goes through it piece by piece, so that this decides how often two
/// lanes wake each other: docs/measurements.md.
inline constexpr std::size_t kStreamBytes = std::size_t{1} << 20U;

/// The rings of the streams that one worker sends, before the host's workers have met.
class StreamMemory {
 public:
  /// @param peers  workers of the host to which this one sends and from which it receives,
  ///               ascending; the others name this one likewise
  /// @pre all workers of the host make theirs, at the same place among their allocations
  /// @throws EnvironmentError where shared memory is too small, naming what is needed and free
  StreamMemory(HostMemory& memory, const std::vector<int>& peers,
               std::size_t capacity = kStreamBytes);

 private:
  friend class HostStreams;
  std::size_t index_;  // among the worker's own allocations
  Arena arena_;
};

class HostStreams {
 public:
  /// @param own, group  outlive this
  /// @throws InvariantError where two workers do not name each other
  HostStreams(StreamMemory& own, const HostGroup& group);

  /// Whether there is a stream to `worker`, and one from it. Any thread.
  [[nodiscard]] bool reach(int worker) const { return ends_.contains(worker); }
  /// Writes as much as there is room for, and returns how many bytes. Never waits.
  /// @pre reach(worker)
  [[nodiscard]] std::size_t write(int worker, std::span<const std::byte> bytes);
  /// Takes as much as is there, at most bytes.size(), and returns how many bytes.
  /// @pre reach(worker)
  [[nodiscard]] std::size_t read(int worker, std::span<std::byte> bytes);
  /// Wakes the lanes of the host, to see what was written, and what has room again.
  void ring() const { group_.get().ring(); }

 private:
  struct Entry;
  struct Directory;
  /// Of the streams to and from one worker.
  struct Ends {
    Entry* own = nullptr;
    const Entry* other = nullptr;
    std::span<std::byte> out;
    std::span<const std::byte> in;
  };
  friend class StreamMemory;

  [[nodiscard]] static const Entry* find(const Directory& directory, int worker);

  std::reference_wrapper<const HostGroup> group_;
  std::map<int, Ends> ends_;  // by worker
};

}  // namespace gangway::comm
