// SPDX-License-Identifier: MIT
#include "coordinator/edges/envelope.hpp"

#include "base/errors.hpp"

namespace gangway::coordinator {

std::string bytes_of(const messages::Envelope& envelope) { return envelope.SerializeAsString(); }

messages::Envelope parse(const ReceivedMessage& message) {
  messages::Envelope envelope;
  if (!envelope.ParseFromString(message.bytes)) {
    throw InvariantError("rank " + std::to_string(message.rank) + " sent " +
                         std::to_string(message.bytes.size()) +
                         " bytes that are no message: start all ranks from one build");
  }
  return envelope;
}

}  // namespace gangway::coordinator
