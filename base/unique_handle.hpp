// SPDX-License-Identifier: MIT
// Owns a C handle (file descriptor, communicator, stream) and releases it once. A moved-from owner
// is null.
//
// Traits: `using type`, `static type null() noexcept`, `static void release(type) noexcept`. Any
// thread, one owner.
#pragma once

#include <utility>

namespace gangway {

template <typename Traits>
class UniqueHandle {
 public:
  using Handle = typename Traits::type;

  UniqueHandle() = default;
  explicit UniqueHandle(Handle handle) noexcept : handle_(handle) {}
  UniqueHandle(UniqueHandle&& other) noexcept
      : handle_(std::exchange(other.handle_, Traits::null())) {}
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    if (this != &other) {
      reset(std::exchange(other.handle_, Traits::null()));
    }
    return *this;
  }
  UniqueHandle(const UniqueHandle&) = delete;
  UniqueHandle& operator=(const UniqueHandle&) = delete;
  ~UniqueHandle() { reset(); }

  /// Returns the handle without giving it up; null() if empty.
  [[nodiscard]] Handle get() const noexcept { return handle_; }
  [[nodiscard]] explicit operator bool() const noexcept { return handle_ != Traits::null(); }
  /// Gives the handle up without releasing it.
  [[nodiscard]] Handle release() noexcept { return std::exchange(handle_, Traits::null()); }
  void reset(Handle handle = Traits::null()) noexcept {
    const Handle old = std::exchange(handle_, handle);
    if (old != Traits::null()) {
      Traits::release(old);
    }
  }

 private:
  Handle handle_ = Traits::null();
};

}  // namespace gangway
