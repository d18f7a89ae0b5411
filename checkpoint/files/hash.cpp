// SPDX-License-Identifier: MIT
#include "checkpoint/files/hash.hpp"

#include <algorithm>
#include <array>
#include <new>

#include <fmt/format.h>
#include <xxhash.h>

namespace gangway::checkpoint {

namespace {

std::string canonical_hex(XXH128_hash_t hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace

struct Hasher::State {
  struct Free {
    void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> xxh{XXH3_createState()};
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
  if (state_->xxh == nullptr || XXH3_128bits_reset(state_->xxh.get()) != XXH_OK) {
    throw std::bad_alloc();
  }
}

Hasher::~Hasher() = default;

void Hasher::update(std::span<const std::byte> bytes) {
  // The only documented failure is a null state.
  (void)XXH3_128bits_update(state_->xxh.get(), bytes.data(), bytes.size());
}

void Hasher::update(std::string_view text) {
  update(std::as_bytes(std::span(text.data(), text.size())));
}

void Hasher::update(std::uint64_t number) {
  std::array<std::byte, 8> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>((number >> (8U * i)) & 0xffU);
  }
  update(std::span<const std::byte>(bytes));
}

std::string Hasher::hex() const { return canonical_hex(XXH3_128bits_digest(state_->xxh.get())); }

std::string hash_of(std::span<const std::byte> bytes) {
  return canonical_hex(XXH3_128bits(bytes.data(), bytes.size()));
}

std::string hash_of(std::string_view text) {
  return hash_of(std::as_bytes(std::span(text.data(), text.size())));
}

bool is_hash(std::string_view text) {
  return text.size() == 32 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace gangway::checkpoint
