// SPDX-License-Identifier: MIT
// Owns a C handle (file descriptor, communicator, stream) and releases it once. A moved-from owner
// is null.
//
// `kRelease` is the function that closes a handle; it does not throw. Any thread, one owner.
#pragma once

#include <utility>

namespace gangway {

template <typename Handle, auto kRelease, Handle kNull = Handle{}>
class UniqueHandle {
 public:
  UniqueHandle() = default;
  explicit UniqueHandle(Handle handle) noexcept : handle_(handle) {}
  UniqueHandle(UniqueHandle&& other) noexcept : handle_(other.release()) {}
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    if (this != &other) {
      reset(other.release());
    }
    return *this;
  }
  UniqueHandle(const UniqueHandle&) = delete;
  UniqueHandle& operator=(const UniqueHandle&) = delete;
  ~UniqueHandle() { reset(); }

  /// Returns the handle without giving it up; kNull if empty.
  [[nodiscard]] Handle get() const noexcept { return handle_; }
  [[nodiscard]] explicit operator bool() const noexcept { return handle_ != kNull; }
  /// Gives the handle up without releasing it.
  [[nodiscard]] Handle release() noexcept { return std::exchange(handle_, kNull); }
  void reset(Handle handle = kNull) noexcept {
    const Handle old = std::exchange(handle_, handle);
    if (old != kNull) {
      (void)kRelease(old);
    }
  }

 private:
  Handle handle_ = kNull;
};

}  // namespace gangway
