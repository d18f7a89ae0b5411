// SPDX-License-Identifier: MIT
// XXH3-128 as the checkpoints use it: incremental, printed as 32 lower-case hexadecimal digits in
// canonical (big-endian) order, as `xxh128sum` prints it. Any thread; one object belongs to one
// thread.
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
  /// Hash of everything given so far; more may follow.
  [[nodiscard]] std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] std::string hash_of(std::span<const std::byte> bytes);
[[nodiscard]] std::string hash_of(std::string_view text);
/// True for exactly 32 digits of 0-9a-f.
[[nodiscard]] bool is_hash(std::string_view text);

}  // namespace gangway::checkpoint
