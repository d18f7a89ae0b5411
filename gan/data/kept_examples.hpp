// SPDX-License-Identifier: MIT
// Which examples a device has in its memory, as bytes. Told by the compute thread, asked by the
// loader's threads: of a batch that is all there, nothing is read.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace gangway::data {

class KeptExamples {
 public:
  /// @param places  of examples, each as it is and, where half of them are mirrored, mirrored, too
  explicit KeptExamples(std::size_t places) : is_kept_(places) {}

  void keep(std::span<const std::int64_t> places) {
    for (const std::int64_t place : places) {
      is_kept_[static_cast<std::size_t>(place)].store(true, std::memory_order_release);
    }
  }
  [[nodiscard]] bool has_all(std::span<const std::int64_t> places) const {
    return std::ranges::all_of(places, [this](std::int64_t place) {
      return is_kept_[static_cast<std::size_t>(place)].load(std::memory_order_acquire);
    });
  }

 private:
  std::vector<std::atomic<bool>> is_kept_;
};

}  // namespace gangway::data
