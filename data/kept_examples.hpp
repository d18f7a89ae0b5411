// SPDX-License-Identifier: MIT
// Records the examples in a device's memory, as bytes. The compute thread writes it and the
// loader's threads read it: they skip a batch that is entirely on the device.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace gangway::data {

class KeptExamples {
 public:
  /// @param places  number of examples; twice as many if examples may be mirrored
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
