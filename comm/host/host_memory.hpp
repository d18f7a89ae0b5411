// SPDX-License-Identifier: MIT
// Allocates the memory that the workers of one host share. Gradients lie in each worker's own
// segment, which the others only read. The host's weights lie in one segment, in which each worker
// writes its slices. After allocation the workers meet, and a HostMemory becomes a HostGroup. Every
// epoch has new segments, so a worker that was given up cannot touch memory in use.
//
// A worker alone on its host, or with sharing turned off in the job, has private memory; the
// interface is the same. Compute thread.
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

struct HostMemorySetup {
  std::vector<int> members;  ///< worker indices, ascending; includes `worker`
  int worker = 0;            ///< this worker's index
  std::int64_t epoch = 0;
  std::string token = {};     ///< names the segments: letters and digits, equal on all members, of
                              ///< this start of the run alone; unused by a lone worker
  std::size_t num_flags = 0;  ///< per member
  std::filesystem::path directory = kSharedMemoryFolder;  ///< where the segments lie
};

class HostMemory {
 public:
  explicit HostMemory(HostMemorySetup setup);
  /// Makes private memory for a worker that shares none.
  [[nodiscard]] static HostMemory alone(int worker, std::size_t num_flags);
  HostMemory(HostMemory&&) noexcept;
  HostMemory& operator=(HostMemory&&) = delete;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  ~HostMemory();

  /// Allocates memory that only this worker writes and the others may read. All members allocate in
  /// the same order; sizes may differ.
  /// @throws EnvironmentError if shared memory is too small, naming the needed and free bytes.
  [[nodiscard]] Arena allocate_own(std::size_t elements);
  /// Number of own allocations so far, which is the index of the next.
  [[nodiscard]] std::size_t num_own() const;
  /// Allocates zeroed memory of the host, the same pages for all members: equal sizes, same order.
  [[nodiscard]] Arena allocate_shared(std::size_t elements, const Deadline& deadline);

  /// Maps the others' allocations and waits until all members have done so. Then removes the names
  /// of the segments, so that a later crash leaves no files. The Arenas allocated here stay valid.
  /// @param fingerprint  of the memory's content (plan hash); must be equal on all members
  /// @throws CommError naming the member that is silent, or has another epoch or fingerprint.
  [[nodiscard]] HostGroup connect(std::uint64_t fingerprint, const Deadline& deadline) &&;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gangway::comm
