// SPDX-License-Identifier: MIT
// The workers of one host, who have met (comm/host/host_memory.hpp): what the others have
// allocated, and flags that say how far each has come. Used by the lane's thread.
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
  /// As those of `workers` see it who are of this host, each called by its place in `workers`;
  /// they alone are asked for flags. Borrows nothing: the memory lives as long as one of the two.
  /// @pre the own one is among them
  [[nodiscard]] HostGroup among(const std::vector<int>& workers) const;
  HostGroup(HostGroup&&) noexcept;
  HostGroup& operator=(HostGroup&&) = delete;
  ~HostGroup();
  HostGroup(const HostGroup&) = delete;
  HostGroup& operator=(const HostGroup&) = delete;

  /// Worker indices, ascending, the own one among them.
  [[nodiscard]] const std::vector<int>& members() const;
  [[nodiscard]] std::size_t size() const { return members().size(); }
  /// Place of this worker in members().
  [[nodiscard]] std::size_t position() const;
  /// What `member` (a position) allocated as its `index`-th own memory; read-only for the others.
  [[nodiscard]] const float* own_memory(std::size_t member, std::size_t index) const;

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
  explicit HostGroup(std::shared_ptr<HostView> view) : view_(std::move(view)) {}

  std::shared_ptr<HostView> view_;   // of all workers of the host: a group's views share it
  std::vector<int> names_;           // by member
  std::vector<std::size_t> places_;  // by member, in the view
  std::size_t position_ = 0;
};

}  // namespace gangway::comm
