// SPDX-License-Identifier: MIT
#include "worker/cuda/pinned_buffers.hpp"

#include <map>
#include <utility>

#include "base/guarded.hpp"
#include "comm/cuda/cuda_handles.hpp"

namespace gangway::worker {

using comm::PinnedMemory;

struct PinnedBuffers::FreeList {
  Mutex mutex;
  std::multimap<std::size_t, PinnedMemory> free GANGWAY_GUARDED_BY(mutex);  // by size
};

PinnedBuffers::PinnedBuffers() : free_list_(std::make_shared<FreeList>()) {}

std::shared_ptr<std::byte> PinnedBuffers::take(std::size_t bytes) {
  std::size_t size = bytes;
  PinnedMemory memory;
  {
    const MutexLock lock(free_list_->mutex);
    // Takes at most twice the size, because tensors have few sizes and a larger buffer fits
    // another.
    if (const auto found = free_list_->free.lower_bound(bytes);
        found != free_list_->free.end() && found->first <= 2 * bytes) {
      size = found->first;
      memory = std::move(found->second);
      free_list_->free.erase(found);
    }
  }
  if (!memory) {
    memory = comm::allocate_pinned(size);
  }
  auto* const first = static_cast<std::byte*>(memory.get());
  auto owned = std::make_shared<PinnedMemory>(std::move(memory));
  return {first, [free_list = free_list_, size, owned](std::byte*) {
            const MutexLock lock(free_list->mutex);
            free_list->free.emplace(size, std::move(*owned));
          }};
}

}  // namespace gangway::worker
