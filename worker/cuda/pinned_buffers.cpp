// SPDX-License-Identifier: MIT
#include "worker/cuda/pinned_buffers.hpp"

#include <map>
#include <utility>

#include "base/guarded.hpp"
#include "comm/cuda/cuda_handles.hpp"

namespace gangway::worker {

using comm::PinnedMemory;

struct PinnedBuffers::Shelf {
  Mutex mutex;
  std::multimap<std::size_t, PinnedMemory> free GANGWAY_GUARDED_BY(mutex);  // by size
};

PinnedBuffers::PinnedBuffers() : shelf_(std::make_shared<Shelf>()) {}

std::shared_ptr<std::byte> PinnedBuffers::take(std::size_t bytes) {
  std::size_t size = bytes;
  PinnedMemory memory;
  {
    const MutexLock lock(shelf_->mutex);
    // Takes at most twice the size, because tensors have few sizes and a larger buffer fits
    // another.
    if (const auto found = shelf_->free.lower_bound(bytes);
        found != shelf_->free.end() && found->first <= 2 * bytes) {
      size = found->first;
      memory = std::move(found->second);
      shelf_->free.erase(found);
    }
  }
  if (!memory) {
    memory = comm::allocate_pinned(size);
  }
  auto* const first = static_cast<std::byte*>(memory.get());
  auto owned = std::make_shared<PinnedMemory>(std::move(memory));
  return {first, [shelf = shelf_, size, owned](std::byte*) {
            const MutexLock lock(shelf->mutex);
            shelf->free.emplace(size, std::move(*owned));
          }};
}

}  // namespace gangway::worker
