// SPDX-License-Identifier: MIT
// Formats and parses a job's exit code as a line on standard error, for a disk that takes no status
// file. The coordinator prints it; `gangway run` reads it, as mpirun's exit code tells nothing.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace gangway {

inline constexpr std::string_view kUnrecordedEnd =
    "warn  the job's end could not be recorded, exit code ";

/// @param why one line: the path and the remedy
[[nodiscard]] inline std::string unrecorded_end_line(int exit_code, const std::string& why) {
  return std::string(kUnrecordedEnd) + std::to_string(exit_code) + ": " + why;
}

/// Returns the exit code in a line of unrecorded_end_line; nothing for any other line.
[[nodiscard]] inline std::optional<int> unrecorded_exit_code(std::string_view line) {
  const std::size_t found = line.find(kUnrecordedEnd);  // mpirun may put a tag before it
  if (found == std::string_view::npos) {
    return std::nullopt;
  }
  line.remove_prefix(found + kUnrecordedEnd.size());
  int code = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), code);
  return error == std::errc{} ? std::optional<int>(code) : std::nullopt;
}

}  // namespace gangway
