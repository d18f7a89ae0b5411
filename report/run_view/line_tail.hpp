// SPDX-License-Identifier: MIT
// Reads the lines that were appended to a text file since the last read. Called by RunView on files
// of running jobs; one thread per object.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gangway::report {

class LineTail {
 public:
  explicit LineTail(std::filesystem::path path) : path_(std::move(path)) {}

  struct News {
    bool begins_again = false;  ///< the lines read before are no longer valid
    std::vector<std::string> lines;
  };

  /// Returns the new complete lines without line ends; never the cut last line of a killed writer.
  /// Reads a truncated file again from its start, because a run was resumed from an earlier step.
  /// No lines if there is no file.
  [[nodiscard]] News read();

 private:
  [[nodiscard]] bool still_has_last_line(std::istream& file, std::uintmax_t size) const;

  std::filesystem::path path_;
  std::uintmax_t read_bytes_ = 0;
  std::string last_line_;
};

}  // namespace gangway::report
