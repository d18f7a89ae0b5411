// SPDX-License-Identifier: MIT
#include "report/page/static_page.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "report/page/page_files.hpp"

namespace gangway::report {
namespace {

constexpr std::string_view kStyleMark = "<!-- style -->";
constexpr std::string_view kScriptMark = "<!-- script -->";
constexpr std::string_view kEndMark = "<!-- end -->";
/// What is inside the file, and nothing from elsewhere.
constexpr std::string_view kPolicy =
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; media-src data:\">";
constexpr std::string_view kTitle = "<title>Gangway</title>";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// `by` in the place of what lies between a mark and the end mark behind it.
std::string with_part(const std::string& page, std::string_view mark, std::string_view by) {
  const std::size_t begin = page.find(mark);
  const std::size_t end = page.find(kEndMark, begin);
  if (begin == std::string::npos || end == std::string::npos) {
    throw InvariantError(fmt::format("index.html has no part {}", mark));
  }
  return fmt::format("{}{}{}", page.substr(0, begin), by, page.substr(end + kEndMark.size()));
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string html = replaced(std::string(text), "&", "&amp;");
  return replaced(std::move(html), "<", "&lt;");
}

std::string joined_module(std::string_view module) {
  std::string text;
  while (!module.empty()) {
    const std::size_t end = std::min(module.find('\n'), module.size() - 1) + 1;
    std::string_view line = module.substr(0, end);
    module.remove_prefix(end);
    constexpr std::string_view kExport = "export ";
    if (line.starts_with("import ")) {
      continue;
    }
    if (line.starts_with(kExport)) {
      line.remove_prefix(kExport.size());
    }
    text += line;
  }
  return text;
}

std::string static_page(std::string_view document, std::string_view title) {
  std::string page;
  std::string style;
  std::string script;
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.name.ends_with(".html")) {
      page = file.content;
    } else if (file.name.ends_with(".css")) {
      style += file.content;
    } else if (file.name.ends_with(".js")) {
      script += joined_module(file.content);
    }
  }
  // A string of the document may hold anything: no '<' in it may end the element.
  const std::string safe = replaced(std::string(document), "<", "\\u003c");
  page = replaced(std::move(page), kTitle, fmt::format("<title>{}</title>", html_text(title)));
  page = with_part(page, kStyleMark, fmt::format("{}\n<style>\n{}</style>", kPolicy, style));
  return with_part(page, kScriptMark,
                   fmt::format("<script type=\"application/json\" id=\"document\">{}</script>\n"
                               "<script type=\"module\">\n{}</script>",
                               safe, script));
}

}  // namespace gangway::report
