// SPDX-License-Identifier: MIT
// Allocates arenas in device memory of which a worker holds only parts. Offsets are those of the
// whole arena; only the held ranges are backed by memory (CUDA driver API, "Virtual Memory
// Management"). An access to another range is an invalid address.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <cuda.h>

#include "base/unique_handle.hpp"
#include "comm/arena/arena_layout.hpp"
#include "comm/nccl/nccl_memory.hpp"

namespace gangway::comm {

struct DeviceBlock {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  bool operator==(const DeviceBlock&) const = default;
};
void free_addresses(DeviceBlock block) noexcept;
void unmap(DeviceBlock block) noexcept;

class DeviceArena {
 public:
  DeviceArena() = default;
  /// Allocates zeroed memory on the current device for the ranges `held`, ascending, of an arena of
  /// `elements` float32, `copies` times in a row. @throws EnvironmentError if memory is exhausted.
  DeviceArena(std::size_t elements, std::span<const ElementRange> held, std::size_t copies = 1);

  /// The address of the arena's element 0, held or not; null for a default-made arena.
  [[nodiscard]] float* data() const;
  [[nodiscard]] explicit operator bool() const { return data() != nullptr; }
  /// The memory to register with NCCL: the whole arena, or empty if only parts are held.
  [[nodiscard]] std::span<float> registrable() const;

 private:
  void map(DeviceBlock block);

  std::size_t elements_ = 0;
  NcclMemory whole_;  // used if the whole arena is held; NCCL transfers it without copies
  UniqueHandle<DeviceBlock, free_addresses> addresses_;
  std::vector<UniqueHandle<DeviceBlock, unmap>> mappings_;
};

}  // namespace gangway::comm
