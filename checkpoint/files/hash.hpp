// SPDX-License-Identifier: MIT
// Computes XXH3-128 incrementally. Prints it as `xxh128sum` does: 32 lower-case hexadecimal digits
// in canonical (big-endian) order. Any thread; one thread per object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace gangway::checkpoint {

class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  void update(std::span<const std::byte> bytes);
  void update(std::string_view text);
  /// Appends eight bytes, little-endian.
  void update(std::uint64_t number);
  /// Returns the hash of all bytes so far; more may follow.
  [[nodiscard]] std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] std::string hash_of(std::span<const std::byte> bytes);
[[nodiscard]] std::string hash_of(std::string_view text);
/// Whether `text` is exactly 32 digits of 0-9a-f.
[[nodiscard]] bool is_hash(std::string_view text);

}  // namespace gangway::checkpoint
