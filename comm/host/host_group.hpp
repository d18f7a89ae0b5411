// SPDX-License-Identifier: MIT
// Connects the workers of one host: each reads the others' allocations, and flags that show each
// worker's progress. Made by comm/host/host_memory.hpp; used by the lane's thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace gangway::comm {

struct HostView;

class HostGroup {
 public:
  explicit HostGroup(HostView view);
  /// Returns the group of those `workers` that run on this host, numbered by place in `workers`.
  /// Only they are asked for flags. The memory lives as long as either group.
  /// @pre `workers` contains this worker
  [[nodiscard]] HostGroup among(const std::vector<int>& workers) const;
  HostGroup(HostGroup&&) noexcept = default;
  HostGroup& operator=(HostGroup&&) = delete;
  ~HostGroup() = default;
  HostGroup(const HostGroup&) = delete;
  HostGroup& operator=(const HostGroup&) = delete;

  /// Worker indices, ascending; includes this worker.
  [[nodiscard]] const std::vector<int>& members() const { return names_; }
  [[nodiscard]] std::size_t size() const { return members().size(); }
  /// This worker's place in members().
  [[nodiscard]] std::size_t position() const { return position_; }
  /// Memory `index` among `member`'s own allocations; read-only for the others.
  [[nodiscard]] const float* own_memory(std::size_t member, std::size_t index) const;

  /// Sets this worker's flag and wakes the host's lanes. A worker that sees the flag also sees all
  /// earlier writes. @pre a flag's values only grow
  void publish(std::size_t flag, std::uint64_t value);
  [[nodiscard]] std::uint64_t published(std::size_t member, std::size_t flag) const;
  /// Whether every member's `flag` is at least `value`.
  [[nodiscard]] bool all_published(std::size_t flag, std::uint64_t value) const;
  /// The first member (a worker index) whose `flag` is below `value`; -1 if none.
  [[nodiscard]] int first_below(std::size_t flag, std::uint64_t value) const;

  /// Changes with every publish of any member: read it, check the flags, then wait_for_bell.
  [[nodiscard]] std::uint32_t bell() const;
  /// Changes the bell without a publish, which ends every wait_for_bell on the host.
  void ring() const;
  /// Sleeps until bell() differs from `seen` or `limit` has passed.
  void wait_for_bell(std::uint32_t seen, std::chrono::microseconds limit) const;

 private:
  explicit HostGroup(std::shared_ptr<HostView> view) : view_(std::move(view)) {}

  std::shared_ptr<HostView> view_;   // of all workers of the host; shared with groups of `among`
  std::vector<int> names_;           // by member
  std::vector<std::size_t> places_;  // by member: index into the view
  std::size_t position_ = 0;
};

}  // namespace gangway::comm
