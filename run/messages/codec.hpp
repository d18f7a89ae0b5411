// SPDX-License-Identifier: MIT
// Messages as the bytes that MPI carries, and back: Protobuf (run/messages/messages.proto), which
// the .cpp alone sees. Pure; any thread.
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
