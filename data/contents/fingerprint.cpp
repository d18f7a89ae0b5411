// SPDX-License-Identifier: MIT
#include "data/contents/fingerprint.hpp"

#include <array>
#include <new>

#include <fmt/format.h>
#include <xxhash.h>

namespace gangway::data {

void Fingerprint::FreeState::operator()(XXH3_state_s* state) const noexcept {
  (void)XXH3_freeState(state);
}

Fingerprint::Fingerprint() : state_(XXH3_createState()) {
  if (!state_) {
    throw std::bad_alloc();
  }
  XXH3_128bits_reset(state_.get());
}

void Fingerprint::add(std::span<const std::uint8_t> bytes) {
  XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
}

void Fingerprint::add(std::string_view text) {
  add(static_cast<std::int64_t>(text.size()));
  XXH3_128bits_update(state_.get(), text.data(), text.size());
}

void Fingerprint::add(std::int64_t number) {
  std::array<std::uint8_t, 8> little_endian{};
  for (std::size_t i = 0; i < little_endian.size(); ++i) {
    little_endian[i] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(number) >> (8 * i));
  }
  add(little_endian);
}

std::string Fingerprint::hex() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::uint64_t Fingerprint::number() const { return XXH3_128bits_digest(state_.get()).low64; }

}  // namespace gangway::data
