// SPDX-License-Identifier: MIT
// Embeds the files of a run's page in the program. Called by the page's server. Any thread.
#pragma once

#include <span>
#include <string_view>

namespace gangway::report {

struct EmbeddedFile {
  std::string_view name;  ///< "style.css"
  std::string_view content;
};

/// Returns the files that the build embedded.
[[nodiscard]] std::span<const EmbeddedFile> embedded_files();

/// Returns "text/html; charset=utf-8" or another type, by the file name's suffix.
[[nodiscard]] std::string_view media_type(std::string_view file_name);

}  // namespace gangway::report
