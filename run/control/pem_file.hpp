// SPDX-License-Identifier: MIT
// What output.control_certificate and output.control_key name. Used by the control service and the
// live page when they begin to listen.
#pragma once

#include <string>

namespace gangway {

/// The text of a PEM file. @throws ConfigError where it is not there, EnvironmentError where it
/// cannot be read.
[[nodiscard]] std::string read_pem(const std::string& path);

}  // namespace gangway
