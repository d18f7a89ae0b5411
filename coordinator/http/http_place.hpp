// SPDX-License-Identifier: MIT
// Where a run that goes on can be looked at, and the token for it: files in its directory that its
// owner alone may read (0600). Used on the coordinator's main thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace gangway::coordinator {

inline constexpr std::string_view kHttpFile = "http.json";  ///< while the run goes on
/// For good: starts of a run share it, and so do programs that ask for its metrics.
inline constexpr std::string_view kHttpTokenFile = "http.token";
/// What the cookie of a browser that has shown the token holds in its place, as long.
inline constexpr std::string_view kHttpSessionFile = "http.session";

struct HttpPlace {
  std::string url;
  std::string token;  ///< 64 hexadecimal digits
  std::string host;   ///< this host's name
  std::uint16_t port = 0;
  std::int64_t pid = 0;
};

/// The secret in that file of the run; a new one where there is none that is this user's alone.
/// @throws EnvironmentError when it cannot be written.
[[nodiscard]] std::string run_secret(const std::filesystem::path& run_directory,
                                     std::string_view file);

/// @throws EnvironmentError
void write_http_place(const std::filesystem::path& run_directory, const HttpPlace& place);
void remove_http_place(const std::filesystem::path& run_directory);
/// The port of a start before that was killed; 0: nobody knows.
[[nodiscard]] std::uint16_t port_before(const std::filesystem::path& run_directory);

}  // namespace gangway::coordinator
