// SPDX-License-Identifier: MIT
// What has come to a text file since it was last looked at: of runs that go on, whose files grow.
// Used by RunView; one thread each.
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
    bool begins_again = false;  ///< what was read before is no longer so
    std::vector<std::string> lines;
  };

  /// The lines that are whole by now, without their ends; the last of a writer that was killed
  /// never is. A file that was cut, as a run's that goes on from an earlier step, is read from its
  /// beginning. None where there is no file.
  [[nodiscard]] News read();

 private:
  [[nodiscard]] bool still_has_last_line(std::istream& file, std::uintmax_t size) const;

  std::filesystem::path path_;
  std::uintmax_t read_bytes_ = 0;
  std::string last_line_;
};

}  // namespace gangway::report
