// SPDX-License-Identifier: MIT
// Writes and reads the files by which a running job is reached. control.json in its run directory
// has the address; two files beside it have the tokens to read and to steer. All have mode 0600.
// The coordinator writes them, removes them at its end, and replaces those of a killed coordinator.
// `gangway status` and similar commands read them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace gangway {

/// File names in the run directory.
inline constexpr std::string_view kControlFile = "control.json";
inline constexpr std::string_view kReadTokenFile = "control.read";
inline constexpr std::string_view kSteerTokenFile = "control.steer";

/// The longest path that a Unix socket may have.
inline constexpr std::size_t kLongestSocketPath = 107;

struct ControlPlace {
  std::string host;         ///< the coordinator's host
  std::int64_t pid = 0;     ///< the coordinator's process
  std::string address;      ///< "unix:/run/user/7/gangway/4f….sock", "127.0.0.1:50051"
  std::string certificate;  ///< absolute path, PEM; empty: no TLS
  bool operator==(const ControlPlace&) const = default;

  /// Returns the path of the Unix socket; empty if the address is not a Unix socket.
  [[nodiscard]] std::string socket() const;
};

struct ControlTokens {
  std::string read;   ///< 64 hexadecimal digits
  std::string steer;  ///< also allows reading
};

/// Returns the folder for control sockets, and makes it, private to this user, if it is missing. It
/// is `runtime_directory`/gangway; /tmp/gangway-UID if that is empty, unusable or too long a path;
/// /tmp/gangway-UID-XXXXXX if another user owns that.
/// @param runtime_directory  $XDG_RUNTIME_DIR
/// @throws EnvironmentError if the folder belongs to another user, or others may enter it
[[nodiscard]] std::filesystem::path control_folder(const std::string& runtime_directory,
                                                   const std::filesystem::path& temporary = "/tmp");

/// Removes the sockets of killed coordinators in a folder of control_folder(): those older than a
/// minute that refuse a connection. A younger socket's coordinator may be about to listen.
void remove_dead_sockets(const std::filesystem::path& folder);

/// Writes a file that only this user can read, from its creation on. @throws EnvironmentError
void write_private(const std::filesystem::path& path, const std::string& text);
/// Writes the tokens, then control.json. @throws EnvironmentError
void write_control(const std::filesystem::path& run, const ControlPlace& place,
                   const ControlTokens& tokens);
/// Removes the three files and the coordinator's socket; does nothing if they are missing.
void remove_control(const std::filesystem::path& run) noexcept;
/// Returns control.json's content; nothing if the file is missing or damaged.
/// @throws EnvironmentError if it cannot be read
[[nodiscard]] std::optional<ControlPlace> read_control(const std::filesystem::path& run);
/// Returns the token in `file`, without white space; nothing if the file is missing.
/// @throws EnvironmentError if it cannot be read
[[nodiscard]] std::optional<std::string> read_token(const std::filesystem::path& file);
/// Like read_token, but requires a file, not a link, that this user alone can read. In another
/// user's run, a link could lead to any secret of this user. @throws EnvironmentError otherwise
[[nodiscard]] std::optional<std::string> read_own_token(const std::filesystem::path& file);

}  // namespace gangway
