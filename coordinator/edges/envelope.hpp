// SPDX-License-Identifier: MIT
// Control messages as the bytes that MPI carries, and back. The coordinator's main thread.
#pragma once

#include <string>

#include "coordinator/edges/mpi_control.hpp"
#include "job/proto/messages.pb.h"

namespace gangway::coordinator {

[[nodiscard]] std::string bytes_of(const messages::Envelope& envelope);
/// @throws InvariantError: it is none.
[[nodiscard]] messages::Envelope parse(const ReceivedMessage& message);

}  // namespace gangway::coordinator
