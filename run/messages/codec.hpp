// SPDX-License-Identifier: MIT
// Encodes messages as the bytes that MPI carries, and back: the kind's name, the epoch, then the
// members in the order of fields(). Both ends must be of one build. Hello and Stop can be read from
// any build, so that an error can name the build that differs. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "run/messages/messages.hpp"

namespace gangway::messages {

[[nodiscard]] std::string encode(const Envelope& envelope);

/// @param sender  rank, for the error
/// @throws InvariantError in one line: the bytes are no message, this build does not know its kind,
/// or its numbers are impossible (negative counts, ranges out of order).
[[nodiscard]] Envelope decode(std::string_view bytes, Rank sender);

}  // namespace gangway::messages
