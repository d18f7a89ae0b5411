// SPDX-License-Identifier: MIT
// Hashes the identity of a data set into 32 hexadecimal digits (XXH3, 128 bits). Used by the data
// sets. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/hash.hpp"

namespace gangway::data {

class Fingerprint {
 public:
  void add(std::span<const std::uint8_t> bytes) { hasher_.update(std::as_bytes(bytes)); }
  /// Adds the text with its length, so that "ab" + "c" differs from "a" + "bc".
  void add(std::string_view text) {
    hasher_.update(std::uint64_t{text.size()});
    hasher_.update(text);
  }
  void add(std::int64_t number) { hasher_.update(static_cast<std::uint64_t>(number)); }
  [[nodiscard]] std::string hex() const { return hasher_.hex(); }
  /// Returns the last 64 bits of the hash.
  [[nodiscard]] std::uint64_t number() const { return hasher_.hash().low; }

 private:
  Hasher hasher_;
};

/// Returns the hexadecimal digits of the parts, added in their order.
[[nodiscard]] std::string fingerprint_of(const auto&... parts) {
  Fingerprint print;
  (print.add(parts), ...);
  return print.hex();
}

}  // namespace gangway::data
