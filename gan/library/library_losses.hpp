// SPDX-License-Identifier: MIT
// Finds losses of a user's library. Called when a worker begins, compute thread.
#pragma once

#include <string_view>

#include "gan/losses/losses.hpp"
#include "job/models/hashed_file.hpp"

namespace gangway::gan {

/// Returns the library's loss of that name, else loss_named.
/// @pre the job is settled. @throws ConfigError as SharedLibrary; InvariantError for an unknown
/// name
[[nodiscard]] LossFunction loss_of(std::string_view name, const HashedFile& library);

}  // namespace gangway::gan
