// SPDX-License-Identifier: MIT
// Streams bytes between two workers of one host through a ring, one per ordered pair. The ring lies
// in the sender's own memory; only the sender writes it, the receiver reads it. Allocated with the
// host's memory (comm/host/host_memory.hpp), so a crash leaves no files. Made on the compute
// thread, used on the lane's. Called by comm/tensors/tensor_channel.hpp.
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

/// Capacity of one stream. Longer tensors pass piece by piece, so it sets how often two lanes wake
/// each other: docs/measurements.md.
inline constexpr std::size_t kStreamBytes = std::size_t{1} << 20U;

/// The rings for this worker's sends, before the host's workers have met.
class StreamMemory {
 public:
  /// @param peers  workers of the host with a stream to and from this worker, ascending; each peer
  ///               names this worker too
  /// @pre all workers of the host make theirs, at the same place among their allocations
  /// @throws EnvironmentError if shared memory is too small, naming the needed and free bytes
  StreamMemory(HostMemory& memory, const std::vector<int>& peers,
               std::size_t capacity = kStreamBytes);

 private:
  friend class HostStreams;
  std::size_t index_;  // among the worker's own allocations
  Arena arena_;
};

class HostStreams {
 public:
  /// @param own, group  outlive this object
  /// @throws InvariantError if two workers do not name each other
  HostStreams(StreamMemory& own, const HostGroup& group);

  /// Whether there are streams to and from `worker`. Any thread.
  [[nodiscard]] bool reach(int worker) const { return ends_.contains(worker); }
  /// Writes as many bytes as the ring has room for, and returns their number. Never waits.
  /// @pre reach(worker)
  [[nodiscard]] std::size_t write(int worker, std::span<const std::byte> bytes);
  /// Reads the bytes that are available, at most bytes.size(), and returns their number.
  /// @pre reach(worker)
  [[nodiscard]] std::size_t read(int worker, std::span<std::byte> bytes);
  /// Wakes the host's lanes to read new bytes or to use new room.
  void ring() const { group_.get().ring(); }

 private:
  struct Entry;
  struct Directory;
  /// The streams to and from one worker.
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
