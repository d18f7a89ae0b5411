// SPDX-License-Identifier: MIT
// A running job as a person reads it, and as a script does. Pure.
#pragma once

#include <string>

#include <google/protobuf/message.h>

#include "run/control/control.pb.h"

namespace gangway::launch {

/// The status in several lines. @param program  the command's name as typed, for `PROGRAM resume`
[[nodiscard]] std::string status_text(const control::v1::StatusReply& status,
                                      const std::string& program);
/// One line, keys as in control.proto; also those that are 0.
[[nodiscard]] std::string json_line(const google::protobuf::Message& message);

}  // namespace gangway::launch
