// SPDX-License-Identifier: MIT
// Losses that a user's library adds. Called where a worker begins, compute thread.
#pragma once

#include <string_view>

#include "gan/losses/losses.hpp"
#include "job/models/hashed_file.hpp"

namespace gangway::gan {

/// The library's loss of that name, else loss_named.
/// @pre settled. @throws ConfigError as SharedLibrary; InvariantError for a name that none has
[[nodiscard]] LossFunction loss_of(std::string_view name, const HashedFile& library);

}  // namespace gangway::gan
