// SPDX-License-Identifier: MIT
// Reads the files that output.control_certificate and output.control_key name. Called by the
// control service and the live page when they begin to listen.
#pragma once

#include <string>

namespace gangway {

/// Returns the text of a PEM file. @throws ConfigError if it is missing, EnvironmentError if it
/// cannot be read.
[[nodiscard]] std::string read_pem(const std::string& path);

}  // namespace gangway
