// SPDX-License-Identifier: MIT
// The two networks of the default recipe, which most tests' jobs have.
#pragma once

#include <string>

#include "job/models/network_id.hpp"

namespace gangway {

inline constexpr NetworkId kGenerator{0};
inline constexpr NetworkId kDiscriminator{1};
inline const PerNetwork<std::string> kNetworkNames{"generator", "discriminator"};

}  // namespace gangway
