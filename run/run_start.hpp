// SPDX-License-Identifier: MIT
// Identifies a run by a random id, and each start of it by a count. start.json keeps both.
// Snapshots carry both, so that only this start can claim them. Another run may have the same path:
// on another host, in a container, or in a removed folder. The coordinator writes the file under
// the run's lock; any program may read it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gangway {

/// File name in the run directory.
inline constexpr std::string_view kRunStartFile = "start.json";

struct RunStart {
  std::string run_id;                      ///< the run's id: 32 random hexadecimal digits
  std::int64_t incarnation = 0;            ///< number of this start, from 1
  std::optional<std::int64_t> begun = {};  ///< step at which it began; nothing: not yet
  /// Fingerprint of the examples that the last start which began has read, and the time of that in
  /// RFC 3339; empty: none.
  std::string data_fingerprint = {};
  std::string data_read = {};
  /// Software of the last start that began (its number is `computed`): versions by name.
  std::map<std::string, std::string> software = {};
  std::int64_t computed = 0;
  /// Number of the first start that the command of this start made.
  std::int64_t commanded = 0;
  bool operator==(const RunStart&) const = default;
};

/// Returns the newest start; nothing if there is none or start.json is damaged.
/// @throws EnvironmentError
[[nodiscard]] std::optional<RunStart> read_run_start(const std::filesystem::path& run);

/// Returns the run's id, or empty if it cannot be read.
[[nodiscard]] std::string run_id_of(const std::filesystem::path& run) noexcept;

/// Begins another start; it is on the disk when this returns. If start.json is missing or damaged,
/// the run gets a new id, and snapshots with the old id are never used again.
/// @pre the caller holds the run's lock
/// @param is_again  whether the same command also made the start before
/// @throws EnvironmentError
[[nodiscard]] RunStart begin_run_start(const std::filesystem::path& run, bool is_again = false);

/// Writes start.json. @throws EnvironmentError
void write_run_start(const std::filesystem::path& run, const RunStart& start);

}  // namespace gangway
