// SPDX-License-Identifier: MIT
// The page as one file that needs no server: its style, its modules and the document are inside.
// For `gangway report`. Pure.
#pragma once

#include <string>
#include <string_view>

namespace gangway::report {

/// @param document  JSON, as the page's modules take it: docs/run-page.md
/// @param title  of the window
[[nodiscard]] std::string static_page(std::string_view document, std::string_view title);

/// `text` between the tags of a page.
[[nodiscard]] std::string html_text(std::string_view text);

/// Modules in the order of their imports as one: `import` lines are gone, and so is the word
/// `export`. What they name at their top must be unique among them.
[[nodiscard]] std::string joined_module(std::string_view module);

}  // namespace gangway::report
