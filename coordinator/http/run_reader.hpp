// SPDX-License-Identifier: MIT
// What of a run that goes on is read from its directory, for the page. Used on the thread that
// reads; a disk that is slow or hangs keeps that one alone.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "report/run_view/run_view.hpp"

namespace gangway::coordinator {

/// Whether a name may be that of a picture of a run, or of the sounds beside it: letters, digits,
/// '.', '_' and '-', not first a '.', and ".png" or ".wav" last. So it leads nowhere but into the
/// run directory.
[[nodiscard]] bool is_picture_name(std::string_view name);

class RunReader {
 public:
  explicit RunReader(std::filesystem::path run_directory);

  /// The run's document (docs/run-page.md) as JSON, without its last brace: more may follow.
  [[nodiscard]] std::string open_document();
  /// Nothing where there is no such file, where it is a link, or too large.
  [[nodiscard]] std::optional<std::string> picture(const std::string& name) const;
  /// The end of a rank's log, from the beginning of a line on.
  [[nodiscard]] std::optional<std::string> log_end(int rank) const;

  static constexpr std::size_t kMaxPictureBytes = std::size_t{16} << 20U;
  static constexpr std::size_t kMaxLogBytes = std::size_t{64} << 10U;

 private:
  std::filesystem::path run_directory_;
  report::RunView view_;
};

}  // namespace gangway::coordinator
