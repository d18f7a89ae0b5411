// SPDX-License-Identifier: MIT
// What tells a run, and each start of it, from all others: a random name that the run directory
// keeps, and a count of the starts. Snapshots carry both, so that neither another run at the same
// path (of another host or container, or of a folder that was removed) nor another start of this
// one is taken for theirs. Written by the coordinator under the run's lock, read by anybody.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gangway {

/// In the run directory.
inline constexpr std::string_view kRunStartFile = "start.json";

struct RunStart {
  std::string run_id;                      ///< 32 hexadecimal digits, random, of the run
  std::int64_t incarnation = 0;            ///< counts from 1
  std::optional<std::int64_t> begun = {};  ///< the step that this start has begun at, once it has
  /// Of the examples that the last start which began has read, and when, in RFC 3339; empty: there
  /// was none.
  std::string data_fingerprint = {};
  std::string data_read = {};
  /// By name, what the start of number `computed` has computed with, the last one that began.
  std::map<std::string, std::string> software = {};
  std::int64_t computed = 0;
  /// The number of the first start of the command that has begun this one.
  std::int64_t commanded = 0;
  bool operator==(const RunStart&) const = default;
};

/// The newest start; nothing where there was none, or the file is damaged. @throws EnvironmentError
[[nodiscard]] std::optional<RunStart> read_run_start(const std::filesystem::path& run);

/// Of the run, or empty. For what must not fail.
[[nodiscard]] std::string run_id_of(const std::filesystem::path& run) noexcept;

/// Begins one more start, which is on the disk when this returns. Where start.json cannot be read,
/// the run gets a new id; snapshots with the old id are never used again. @pre the caller holds the
/// run's lock
/// @param is_again  by the command that has begun the one before
/// @throws EnvironmentError
[[nodiscard]] RunStart begin_run_start(const std::filesystem::path& run, bool is_again = false);

/// As it is from here on. @throws EnvironmentError
void write_run_start(const std::filesystem::path& run, const RunStart& start);

}  // namespace gangway
