// SPDX-License-Identifier: MIT
// Messages as the bytes that MPI carries, and back, by their fields(): the kind's name, the epoch,
// the members in their order. Both ends are of one build; Hello and Stop are read of any, so that
// the one that differs is named. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "run/messages/messages.hpp"

namespace gangway::messages {

[[nodiscard]] std::string encode(const Envelope& envelope);

/// @param sender  rank, for the error
/// @throws InvariantError in one line: it is none, it is of a kind that this build does not know,
/// or its numbers cannot be (negative counts, ranges that are out of order).
[[nodiscard]] Envelope decode(std::string_view bytes, int sender);

}  // namespace gangway::messages
