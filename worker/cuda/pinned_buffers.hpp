// SPDX-License-Identifier: MIT
// Page-locked memory of the host, which a device copies from and to by itself, used again and
// again: locking pages takes longer than most copies. Any thread.
#pragma once

#include <cstddef>
#include <memory>

namespace gangway::worker {

class PinnedBuffers {
 public:
  PinnedBuffers();
  /// At least `bytes`; comes back by itself when nobody has it any more, also after this has ended.
  /// @throws EnvironmentError where there are none
  [[nodiscard]] std::shared_ptr<std::byte> take(std::size_t bytes);

 private:
  struct Shelf;
  std::shared_ptr<Shelf> shelf_;  // shared with the buffers that are out
};

}  // namespace gangway::worker
