// SPDX-License-Identifier: MIT
// Formats the status of a running job: for people, and as JSON for scripts. Pure.
#pragma once

#include <string>

#include <google/protobuf/message.h>

#include "run/control/control.pb.h"

namespace gangway::launch {

/// Formats the status in several lines. @param program  command name as typed, for `PROGRAM resume`
[[nodiscard]] std::string status_text(const control::v1::StatusReply& status,
                                      const std::string& program);
/// Formats a message as one line of JSON; keys as in control.proto, zero values included.
[[nodiscard]] std::string json_line(const google::protobuf::Message& message);

}  // namespace gangway::launch
