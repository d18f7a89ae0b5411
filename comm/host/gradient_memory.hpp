// SPDX-License-Identifier: MIT
// Allocates and adds a worker's gradient sums: on the CPU in host memory, or on the GPU in device
// memory. Called by comm/reduce/partial_stack.hpp on the compute thread.
#pragma once

#include <cstddef>
#include <vector>

#include "comm/host/host_memory.hpp"

namespace gangway::comm {

class GradientMemory {
 public:
  virtual ~GradientMemory() = default;
  /// Returns memory that lives as long as this object. @throws EnvironmentError if it is exhausted.
  [[nodiscard]] virtual float* allocate(std::size_t elements) = 0;
  /// Zeroes `values`. `clear` and `add` run in the order of calls, and may run after they return.
  virtual void clear(float* values, std::size_t elements) = 0;
  /// to[i] = to[i] + from[i], rounded once.
  virtual void add(float* to, const float* from, std::size_t elements) = 0;
};

/// Allocates in memory that the host's other workers may read. Calls are synchronous; the lane's
/// thread may call `add` too.
class HostGradientMemory final : public GradientMemory {
 public:
  /// @pre `host` outlives the allocations
  explicit HostGradientMemory(HostMemory& host) : host_(host) {}
  [[nodiscard]] float* allocate(std::size_t elements) override;
  void clear(float* values, std::size_t elements) override;
  void add(float* to, const float* from, std::size_t elements) override;

 private:
  HostMemory& host_;
  std::vector<Arena> arenas_;
};

}  // namespace gangway::comm
