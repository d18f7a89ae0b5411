// SPDX-License-Identifier: MIT
// The files of a run's page, which the program carries in itself. Any thread.
#pragma once

#include <span>
#include <string_view>

namespace gangway::report {

struct EmbeddedFile {
  std::string_view name;  ///< "style.css"
  std::string_view content;
};

/// As the build has put them in.
[[nodiscard]] std::span<const EmbeddedFile> embedded_files();

/// "text/html; charset=utf-8", by the end of its name.
[[nodiscard]] std::string_view media_type(std::string_view file_name);

}  // namespace gangway::report
