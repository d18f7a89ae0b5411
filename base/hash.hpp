// SPDX-License-Identifier: MIT
// Computes XXH3-128, at once or incrementally. Prints it as `xxh128sum` does: 32 lower-case
// hexadecimal digits in canonical (big-endian) order. Any thread; one thread per object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/unique_handle.hpp"

struct XXH3_state_s;  // of xxhash.h

namespace gangway {

struct Hash128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const Hash128&) const = default;
  [[nodiscard]] std::string hex() const;
};

class Hasher {
 public:
  Hasher();

  /// Forgets all bytes so far.
  void reset() noexcept;
  void update(std::span<const std::byte> bytes) noexcept;
  void update(std::string_view text) noexcept;
  /// Appends eight bytes, little-endian.
  void update(std::uint64_t number) noexcept;
  /// Returns the hash of all bytes so far; more may follow.
  [[nodiscard]] Hash128 hash() const;
  [[nodiscard]] std::string hex() const { return hash().hex(); }

 private:
  static void free_state(XXH3_state_s* state) noexcept;
  UniqueHandle<XXH3_state_s*, free_state> state_;
};

[[nodiscard]] Hash128 hash_bytes(std::span<const std::byte> bytes);
[[nodiscard]] std::string hash_of(std::span<const std::byte> bytes);
[[nodiscard]] std::string hash_of(std::string_view text);
/// Whether `text` is exactly 32 digits of 0-9a-f.
[[nodiscard]] bool is_hash(std::string_view text);

}  // namespace gangway
