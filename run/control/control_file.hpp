// SPDX-License-Identifier: MIT
// Where a running job is steered: control.json in its run directory says at which address, and two
// files beside it hold the token for reading and the token for steering. All three have mode 0600.
// The coordinator writes them and removes them at its end; the next coordinator replaces what a
// killed one left. Read by `gangway status` and the like.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace gangway {

/// In the run directory.
inline constexpr std::string_view kControlFile = "control.json";
inline constexpr std::string_view kReadTokenFile = "control.read";
inline constexpr std::string_view kSteerTokenFile = "control.steer";

/// The longest path that a Unix socket may have.
inline constexpr std::size_t kLongestSocketPath = 107;

struct ControlPlace {
  std::string host;         ///< on which the coordinator runs
  std::int64_t pid = 0;     ///< its
  std::string address;      ///< "unix:/run/user/7/gangway/4f….sock", "127.0.0.1:50051"
  std::string certificate;  ///< absolute path, PEM; empty: no TLS
  bool operator==(const ControlPlace&) const = default;

  /// The socket's path; empty where the address is another.
  [[nodiscard]] std::string socket() const;
};

struct ControlTokens {
  std::string read;   ///< 64 hexadecimal digits
  std::string steer;  ///< may read as well
};

/// Of this user alone, made where it is missing: `runtime_directory`/gangway, or, where that is
/// empty, cannot be used or would make paths too long, /tmp/gangway-UID; where another user
/// was faster with that, /tmp/gangway-UID-XXXXXX.
/// @param runtime_directory  $XDG_RUNTIME_DIR
/// @throws EnvironmentError where it is another's, or others may enter it
[[nodiscard]] std::filesystem::path control_folder(const std::string& runtime_directory,
                                                   const std::filesystem::path& temporary = "/tmp");

/// First the tokens, then the place. @throws EnvironmentError
void write_control(const std::filesystem::path& run, const ControlPlace& place,
                   const ControlTokens& tokens);
/// What a killed coordinator left, its socket too; nothing where nothing is left.
void remove_control(const std::filesystem::path& run) noexcept;
/// Nothing where there is none, or it is damaged. @throws EnvironmentError where it cannot be read
[[nodiscard]] std::optional<ControlPlace> read_control(const std::filesystem::path& run);
/// A token of that file, without white space; nothing where it is not there.
/// @throws EnvironmentError where it cannot be read
[[nodiscard]] std::optional<std::string> read_token(const std::filesystem::path& file);
/// The same of a file that this user alone can read, and no link: of a stranger's run it could be
/// any secret of this user. @throws EnvironmentError where it is none
[[nodiscard]] std::optional<std::string> read_own_token(const std::filesystem::path& file);

}  // namespace gangway
