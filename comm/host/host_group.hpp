// SPDX-License-Identifier: MIT
// The workers of one host and the memory that they share: gradients are born in a worker's own
// segment, which the others only read; the weights of the host lie in one segment, in which each
// worker writes what it answers for. Flags say how far each has come. Every epoch has new segments,
// so that a worker that was given up can touch nothing that is still in use.
//
// A worker that is alone on its host, or whose job says so, has a group of its own: private memory,
// nothing else changes. Made and connected by the compute thread, then used by the lane's.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/shared_segment.hpp"
#include "comm/arena/arena.hpp"
#include "comm/transport/deadline.hpp"

namespace gangway::comm {

class HostGroup {
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

  explicit HostGroup(Setup setup);
  /// The group of a worker that shares nothing.
  [[nodiscard]] static HostGroup alone(int worker, std::size_t num_flags);
  HostGroup(HostGroup&&) noexcept;
  ~HostGroup();

  [[nodiscard]] const std::vector<int>& members() const;
  [[nodiscard]] std::size_t size() const { return members().size(); }
  /// Place of this worker in members().
  [[nodiscard]] std::size_t position() const;

  /// Memory that this worker alone writes and the others may read. All members allocate in the same
  /// order; sizes may differ. @pre not connected
  /// @throws EnvironmentError where shared memory is too small, naming what is needed and free.
  [[nodiscard]] Arena allocate_own(std::size_t elements);
  /// Own allocations so far: the index of the next.
  [[nodiscard]] std::size_t num_own() const;
  /// Memory of the host: the same pages for every member, zeroed. Equal sizes, same order. @pre not
  /// connected
  [[nodiscard]] Arena allocate_shared(std::size_t elements, const Deadline& deadline);
  /// Maps what the others allocated, waits until all have done so, and removes the names: from then
  /// on nothing is left behind, whoever dies.
  /// @param fingerprint  of what lies in the memory (plan hash): must be equal on all members
  /// @throws CommError naming the member that is silent, of another epoch, or of another
  /// fingerprint.
  void connect(std::uint64_t fingerprint, const Deadline& deadline);

  /// What `member` (a position) allocated as its `index`-th own memory; read-only for the others.
  [[nodiscard]] const float* own_memory(std::size_t member, std::size_t index) const;
  [[nodiscard]] std::size_t own_size(std::size_t member, std::size_t index) const;

  /// Sets an own flag and wakes the others' lanes; what was written before is visible to whoever
  /// sees it. Values of one flag only grow.
  void publish(std::size_t flag, std::uint64_t value);
  [[nodiscard]] std::uint64_t published(std::size_t member, std::size_t flag) const;
  /// Whether every member's `flag` is at least `value`.
  [[nodiscard]] bool all_published(std::size_t flag, std::uint64_t value) const;
  /// The first member (a worker index) whose `flag` is below `value`; -1: none.
  [[nodiscard]] int first_below(std::size_t flag, std::uint64_t value) const;

  /// A number that changes with every publish of any member: read it, look at the flags, then wait.
  [[nodiscard]] std::uint32_t bell() const;
  /// Changes it without a publish: ends every wait_for_bell of the host.
  void ring() const;
  /// Sleeps until bell() differs from `seen` or `limit` has passed.
  void wait_for_bell(std::uint32_t seen, std::chrono::microseconds limit) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gangway::comm
