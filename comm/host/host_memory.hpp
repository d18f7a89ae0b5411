// SPDX-License-Identifier: MIT
// The memory that the workers of one host share, while it is laid out: gradients are born in a
// worker's own segment, which the others only read; the weights of the host lie in one segment, in
// which each worker writes what it answers for. When all is laid out the workers meet, and a
// HostMemory becomes a HostGroup. Every epoch has new segments, so that a worker that was given up
// can touch nothing that is still in use.
//
// A worker that is alone on its host, or whose job says so, has private memory; nothing else
// changes. Compute thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/shared_segment.hpp"
#include "comm/arena/arena.hpp"
#include "comm/host/host_group.hpp"
#include "comm/transport/deadline.hpp"

namespace gangway::comm {

class HostMemory {
 public:
  struct Setup {
    std::vector<int> members;  ///< worker indices, ascending, the own one among them
    int worker = 0;            ///< own index
    std::int64_t epoch = 0;
    std::string token = {};  ///< names the segments: letters and digits, equal on all members, of
                             ///< this start of the run alone; unused by a lone worker
    std::size_t num_flags = 0;                              ///< a member
    std::filesystem::path directory = kSharedMemoryFolder;  ///< of the segments
  };

  explicit HostMemory(Setup setup);
  /// Of a worker that shares nothing.
  [[nodiscard]] static HostMemory alone(int worker, std::size_t num_flags);
  HostMemory(HostMemory&&) noexcept;
  HostMemory& operator=(HostMemory&&) = delete;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  ~HostMemory();

  /// Memory that this worker alone writes and the others may read. All members allocate in the same
  /// order; sizes may differ.
  /// @throws EnvironmentError where shared memory is too small, naming what is needed and free.
  [[nodiscard]] Arena allocate_own(std::size_t elements);
  /// Own allocations so far: the index of the next.
  [[nodiscard]] std::size_t num_own() const;
  /// Memory of the host: the same pages for every member, zeroed. Equal sizes, same order.
  [[nodiscard]] Arena allocate_shared(std::size_t elements, const Deadline& deadline);

  /// Maps what the others allocated, waits until all have done so, and removes the names: from then
  /// on nothing is left behind, whoever dies. What was allocated here outlives both.
  /// @param fingerprint  of what lies in the memory (plan hash): must be equal on all members
  /// @throws CommError naming the member that is silent, of another epoch, or of another
  /// fingerprint.
  [[nodiscard]] HostGroup connect(std::uint64_t fingerprint, const Deadline& deadline) &&;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gangway::comm
