// SPDX-License-Identifier: MIT
// Arenas in device memory of which a worker holds only a part: places are those of the whole arena,
// and memory is there for what is held (CUDA driver API, "Virtual Memory Management"). Whoever
// touches the rest fails, as with any address that is nobody's.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <cuda.h>

#include "base/unique_handle.hpp"
#include "comm/arena/arena_layout.hpp"
#include "comm/nccl/nccl_memory.hpp"

namespace gangway::comm {

class DeviceArena {
 public:
  DeviceArena() = default;
  /// Zeroed memory on the current device for `held` of an arena of so many float32, `copies` of it
  /// in a row; `held` ascends. @throws EnvironmentError when it is exhausted.
  DeviceArena(std::size_t elements, std::span<const ElementRange> held, std::size_t copies = 1);

  /// Of the whole arena's first element, whether or not that is held; null: of no arena.
  [[nodiscard]] float* data() const;
  [[nodiscard]] explicit operator bool() const { return data() != nullptr; }
  /// What NCCL can be given to register: all of it, or nothing where only parts are there.
  [[nodiscard]] std::span<float> registrable() const;

 private:
  struct Block {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    friend bool operator==(const Block&, const Block&) = default;
  };
  struct AddressTraits {
    using type = Block;
    static type null() noexcept { return {}; }
    static void release(type block) noexcept;
  };
  struct MappingTraits {
    using type = Block;
    static type null() noexcept { return {}; }
    static void release(type block) noexcept;
  };
  void map(Block block);

  std::size_t elements_ = 0;
  NcclMemory whole_;  // where all is held, which NCCL transfers without copies
  UniqueHandle<AddressTraits> addresses_;
  std::vector<UniqueHandle<MappingTraits>> mappings_;
};

}  // namespace gangway::comm
