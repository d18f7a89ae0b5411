// SPDX-License-Identifier: MIT
// Owns one block of floats under an ArenaLayout. Untouched pages are never resident, so moments and
// averages, of which a worker uses only its slices, cost only those slices.
#pragma once

#include <cstddef>
#include <span>

#include <sys/mman.h>

#include "base/errors.hpp"
#include "comm/arena/arena_layout.hpp"

namespace gangway::comm {

/// Zeroed, page-aligned floats. Movable; not thread-safe.
class Arena {
 public:
  /// Takes ownership of a mapping of at least `elements` floats; the destructor unmaps it.
  [[nodiscard]] static Arena adopt(void* mapping, std::size_t elements) {
    return {static_cast<float*>(mapping), elements};
  }
  explicit Arena(std::size_t elements) : elements_(elements) {
    if (elements_ == 0) {
      return;
    }
    void* memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      throw EnvironmentError("out of address space for an arena; use fewer workers on this host");
    }
    data_ = static_cast<float*>(memory);
  }
  Arena(Arena&& other) noexcept : data_(other.data_), elements_(other.elements_) {
    other.data_ = nullptr;
    other.elements_ = 0;
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  Arena& operator=(Arena&&) = delete;
  ~Arena() {
    if (data_ != nullptr) {
      (void)munmap(data_, bytes());
    }
  }

  [[nodiscard]] float* data() noexcept { return data_; }
  [[nodiscard]] const float* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return elements_; }
  [[nodiscard]] std::span<float> range(ElementRange r) { return {data_ + r.begin, r.size()}; }
  [[nodiscard]] std::span<const float> range(ElementRange r) const {
    return {data_ + r.begin, r.size()};
  }

 private:
  Arena(float* data, std::size_t elements) : data_(data), elements_(elements) {}
  [[nodiscard]] std::size_t bytes() const noexcept { return elements_ * sizeof(float); }

  float* data_ = nullptr;
  std::size_t elements_ = 0;
};

}  // namespace gangway::comm
