// SPDX-License-Identifier: MIT
// The two networks of a GAN, and what there is once for each of them. Pure.
#pragma once

#include <array>

namespace gangway {

/// Values are those in message tags, random keys and traces.
enum class NetworkId { kGenerator = 0, kDiscriminator = 1 };

inline constexpr std::array kNetworkIds{NetworkId::kGenerator, NetworkId::kDiscriminator};

/// One for each network; an aggregate, in the order of kNetworkIds.
template <class T>
struct PerNetwork {
  T generator{};
  T discriminator{};

  [[nodiscard]] T& operator[](NetworkId network) {
    return network == NetworkId::kGenerator ? generator : discriminator;
  }
  [[nodiscard]] const T& operator[](NetworkId network) const {
    return network == NetworkId::kGenerator ? generator : discriminator;
  }
  bool operator==(const PerNetwork&) const = default;
};

[[nodiscard]] constexpr const char* name_of(NetworkId network) {
  return network == NetworkId::kGenerator ? "generator" : "discriminator";
}

}  // namespace gangway
