// SPDX-License-Identifier: MIT
// Where a worker's sums of gradients lie, and who adds them: its CPU in the memory of its host, or
// its device in its own memory. Compute thread; used by comm/reduce/partial_stack.hpp.
#pragma once

#include <cstddef>
#include <vector>

#include "comm/host/host_memory.hpp"

namespace gangway::comm {

class GradientMemory {
 public:
  virtual ~GradientMemory() = default;
  /// Room that lives as long as this object. @throws EnvironmentError where there is none.
  [[nodiscard]] virtual float* allocate(std::size_t elements) = 0;
  /// The others are done in the order of the calls; they need not be done when they return.
  virtual void clear(float* values, std::size_t elements) = 0;
  /// to[i] = to[i] + from[i], each rounded once.
  virtual void add(float* to, const float* from, std::size_t elements) = 0;
};

/// In memory that the other workers of the host may read. Done when its calls return; `add` may be
/// called by the lane's thread as well.
class HostGradientMemory final : public GradientMemory {
 public:
  /// @pre `host` lives while anything is allocated
  explicit HostGradientMemory(HostMemory& host) : host_(host) {}
  [[nodiscard]] float* allocate(std::size_t elements) override;
  void clear(float* values, std::size_t elements) override;
  void add(float* to, const float* from, std::size_t elements) override;

 private:
  HostMemory& host_;
  std::vector<Arena> arenas_;
};

}  // namespace gangway::comm
