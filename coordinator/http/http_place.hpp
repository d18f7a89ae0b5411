// SPDX-License-Identifier: MIT
// Files in the run directory with a running job's page address and token, readable only by their
// owner (0600). Used on the coordinator's main thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace gangway::coordinator {

inline constexpr std::string_view kHttpFile = "http.json";  ///< exists while the run is active
/// Permanent: all starts of a run and programs that read its metrics share it.
inline constexpr std::string_view kHttpTokenFile = "http.token";
/// Secret in the cookie that replaces the token after a browser has sent it; as long as that.
inline constexpr std::string_view kHttpSessionFile = "http.session";

struct HttpPlace {
  std::string url;
  std::string token;  ///< 64 hexadecimal digits
  std::string host;   ///< this host's name
  std::uint16_t port = 0;
  std::int64_t pid = 0;
};

/// Returns the secret in the run's file; makes a new one if none is private to this user.
/// @throws EnvironmentError when it cannot be written.
[[nodiscard]] std::string run_secret(const std::filesystem::path& run_directory,
                                     std::string_view file);

/// @throws EnvironmentError
void write_http_place(const std::filesystem::path& run_directory, const HttpPlace& place);
void remove_http_place(const std::filesystem::path& run_directory);
/// Returns the port of an earlier start that was killed; 0: unknown.
[[nodiscard]] std::uint16_t port_before(const std::filesystem::path& run_directory);

}  // namespace gangway::coordinator
