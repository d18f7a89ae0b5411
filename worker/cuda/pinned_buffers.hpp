// SPDX-License-Identifier: MIT
// Recycles page-locked host memory for copies to and from a device, because locking pages takes
// longer than most copies. Any thread.
#pragma once

#include <cstddef>
#include <memory>

namespace gangway::worker {

class PinnedBuffers {
 public:
  PinnedBuffers();
  /// Returns a buffer of at least `bytes`. It is recycled when its last owner releases it, even
  /// after this object is destroyed. @throws EnvironmentError if there is no memory
  [[nodiscard]] std::shared_ptr<std::byte> take(std::size_t bytes);

 private:
  struct FreeList;
  std::shared_ptr<FreeList> free_list_;  // shared with the buffers in use
};

}  // namespace gangway::worker
