// SPDX-License-Identifier: MIT
#include "base/hash.hpp"

#include <algorithm>
#include <array>
#include <new>

#include <fmt/format.h>
#include <xxhash.h>

namespace gangway {
namespace {

Hash128 from_xxh(XXH128_hash_t hash) { return {.low = hash.low64, .high = hash.high64}; }

}  // namespace

std::string Hash128::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

void Hasher::free_state(XXH3_state_s* state) noexcept { (void)XXH3_freeState(state); }

Hasher::Hasher() : state_(XXH3_createState()) {
  if (!state_) {
    throw std::bad_alloc();
  }
  reset();
}

// The only documented failure of these calls is a null state.
void Hasher::reset() noexcept { (void)XXH3_128bits_reset(state_.get()); }

void Hasher::update(std::span<const std::byte> bytes) noexcept {
  (void)XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
}

void Hasher::update(std::string_view text) noexcept {
  update(std::as_bytes(std::span(text.data(), text.size())));
}

void Hasher::update(std::uint64_t number) noexcept {
  std::array<std::byte, 8> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>((number >> (8U * i)) & 0xffU);
  }
  update(std::span<const std::byte>(bytes));
}

Hash128 Hasher::hash() const { return from_xxh(XXH3_128bits_digest(state_.get())); }

Hash128 hash_bytes(std::span<const std::byte> bytes) {
  return from_xxh(XXH3_128bits(bytes.data(), bytes.size()));
}

std::string hash_of(std::span<const std::byte> bytes) { return hash_bytes(bytes).hex(); }

std::string hash_of(std::string_view text) {
  return hash_of(std::as_bytes(std::span(text.data(), text.size())));
}

bool is_hash(std::string_view text) {
  return text.size() == 32 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace gangway
