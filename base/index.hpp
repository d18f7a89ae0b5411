// SPDX-License-Identifier: MIT
// Kinds of whole numbers as types that do not convert into one another. Everyone; any thread. Pure.
#pragma once

#include <compare>
#include <cstddef>

namespace gangway {

template <typename Kind>
class Index {
 public:
  constexpr Index() = default;
  explicit constexpr Index(int value) : value_(value) {}
  [[nodiscard]] constexpr int value() const { return value_; }
  /// Its place in a container that is indexed by it.
  [[nodiscard]] constexpr std::size_t place() const { return static_cast<std::size_t>(value_); }
  constexpr Index& operator++() {
    ++value_;
    return *this;
  }
  auto operator<=>(const Index&) const = default;

 private:
  int value_ = 0;
};

}  // namespace gangway
