// SPDX-License-Identifier: MIT
// Hashes the identity of a data set into 32 hexadecimal digits (XXH3, 128 bits). Used by the data
// sets. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct XXH3_state_s;  // of xxhash.h

namespace gangway::data {

class Fingerprint {
 public:
  Fingerprint();

  void add(std::span<const std::uint8_t> bytes);
  /// Adds the text with its length, so that "ab" + "c" differs from "a" + "bc".
  void add(std::string_view text);
  void add(std::int64_t number);
  [[nodiscard]] std::string hex() const;
  /// Returns the last 64 bits of the hash.
  [[nodiscard]] std::uint64_t number() const;

 private:
  struct FreeState {
    void operator()(XXH3_state_s* state) const noexcept;
  };
  std::unique_ptr<XXH3_state_s, FreeState> state_;
};

}  // namespace gangway::data
