// SPDX-License-Identifier: MIT
// Reads a running job's directory for the page. Used on the reading thread, the only thread that a
// slow or hanging disk blocks.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/index.hpp"
#include "report/run_view/run_view.hpp"

namespace gangway::coordinator {

/// Whether `name` may be a picture or sound of the run: letters, digits, '.', '_' and '-', not
/// first a '.', and ".png" or ".wav" last. Such a name cannot leave the run directory.
[[nodiscard]] bool is_picture_name(std::string_view name);

class RunReader {
 public:
  explicit RunReader(std::filesystem::path run_directory);

  /// Returns the run's document (docs/control.md) as JSON, without its last brace, to be continued.
  [[nodiscard]] std::string open_document();
  /// Returns a picture's bytes; nothing if the file is missing, a link or too large.
  [[nodiscard]] std::optional<std::string> picture(const std::string& name) const;
  /// Returns the end of a rank's log, from the beginning of a line.
  [[nodiscard]] std::optional<std::string> log_end(Rank rank) const;

  static constexpr std::size_t kMaxPictureBytes = std::size_t{16} << 20U;
  static constexpr std::size_t kMaxLogBytes = std::size_t{64} << 10U;

 private:
  std::filesystem::path run_directory_;
  report::RunView view_;
};

}  // namespace gangway::coordinator
