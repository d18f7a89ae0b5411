// SPDX-License-Identifier: MIT
#include "python/read/python_sources.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "base/system/trusted_code.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostSources = 1000;

bool is_name_character(char one) {
  return std::isalnum(static_cast<unsigned char>(one)) != 0 || one == '_' ||
         static_cast<unsigned char>(one) >= 0x80;
}

/// Tokens of a Python text that matter for imports: names and single characters. "\n" ends a
/// statement. Leaves out strings, comments, and line ends within brackets.
class PythonTokens {
 public:
  explicit PythonTokens(std::string_view text) : text_(text) {}

  std::vector<std::string> all() {
    while (at_ < text_.size()) {
      step();
    }
    tokens_.emplace_back("\n");
    return std::move(tokens_);
  }

 private:
  void step() {
    const char one = text_[at_];
    if (one == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (one == '\\' && at_ + 1 < text_.size()) {
      at_ += text_[at_ + 1] == '\r' ? 3 : 2;  // the line continues
    } else if (one == '"' || one == '\'') {
      skip_string(one);
    } else if (is_name_character(one)) {
      const std::size_t begin = at_;
      while (at_ < text_.size() && is_name_character(text_[at_])) {
        ++at_;
      }
      tokens_.emplace_back(text_.substr(begin, at_ - begin));
    } else {
      punctuation(one);
      ++at_;
    }
  }

  void punctuation(char one) {
    depth_ += one == '(' || one == '[' || one == '{' ? 1 : 0;
    depth_ -= (one == ')' || one == ']' || one == '}') && depth_ > 0 ? 1 : 0;
    const bool ends_line = one == '\n' && depth_ == 0;
    if (ends_line || (one == ';' && depth_ == 0)) {
      tokens_.emplace_back("\n");
    } else if (one != '\n' && std::isspace(static_cast<unsigned char>(one)) == 0) {
      tokens_.emplace_back(1, one);
    }
  }

  /// Prefixes are name tokens before the string. They only decide whether a backslash escapes; a
  /// quote behind a backslash belongs to the text in raw strings, too.
  void skip_string(char quote) {
    const std::string three(3, quote);
    const bool is_long = text_.substr(at_, 3) == three;
    at_ += is_long ? 3 : 1;
    while (at_ < text_.size()) {
      if (text_[at_] == '\\') {
        at_ += 2;
      } else if (is_long ? text_.substr(at_, 3) == three : text_[at_] == quote) {
        at_ += is_long ? 3 : 1;
        return;
      } else if (!is_long && text_[at_] == '\n') {
        return;  // not Python; CPython reports it
      } else {
        ++at_;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<std::string> tokens_;
};

class ImportReader {
 public:
  explicit ImportReader(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {}

  std::vector<std::string> all() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      // Also after a colon: `if x: import y`.
      if (i == 0 || tokens_[i - 1] == "\n" || tokens_[i - 1] == ":") {
        at_ = i + 1;
        if (tokens_[i] == "import") {
          plain_import();
        } else if (tokens_[i] == "from") {
          import_from();
        }
      }
    }
    return std::move(names_);
  }

 private:
  [[nodiscard]] const std::string& now() const {
    return tokens_[std::min(at_, tokens_.size() - 1)];
  }

  /// Returns consecutive dots and names: "a.b", "..", ".a".
  std::string dotted() {
    std::string name;
    while (now() == "." || (is_name_character(now().front()) && now() != "import" &&
                            (name.empty() || name.back() == '.'))) {
      name += now();
      ++at_;
    }
    return name;
  }

  /// Moves to the next comma, past `as name`. @return whether there is one
  bool next_item() {
    while (now() != "," && now() != "\n") {
      ++at_;
    }
    return now() == "," && ++at_ > 0;
  }

  void plain_import() {
    do {
      names_.push_back(dotted());
    } while (next_item());
  }

  void import_from() {
    const std::string base = dotted();
    if (base.empty() || now() != "import") {
      return;
    }
    names_.push_back(base);
    ++at_;
    do {
      while (now() == "(") {
        ++at_;
      }
      if (const std::string name = dotted(); !name.empty()) {
        names_.push_back(base + (base.back() == '.' ? "" : ".") + name);
      }
    } while (next_item());
  }

  std::vector<std::string> tokens_;
  std::size_t at_ = 0;
  std::vector<std::string> names_;
};

std::string read_source(const fs::path& file, const fs::path& of) {
  std::error_code missing;
  if (fs::exists(file, missing) && !fs::is_regular_file(file, missing)) {  // a pipe would block
    throw ConfigError(
        fmt::format("{}: is {}; name a Python file", of.string(),
                    fs::is_directory(file, missing) ? "a folder" : "no regular file"));
  }
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream.is_open() || stream.bad()) {
    throw ConfigError(
        fmt::format("{}: {}{}", of.string(), file == of ? "" : file.string() + ": ",
                    errno == 0 ? "cannot be read" : std::generic_category().message(errno)));
  }
  return text;
}

/// Returns "pkg.layers" for ".layers" in a module of "pkg"; nothing if it leaves the folder.
std::optional<std::string> absolute_name(const std::string& name, const fs::path& importer) {
  const std::size_t dots = std::min(name.find_first_not_of('.'), name.size());
  if (dots == 0) {
    return name;
  }
  fs::path package = importer.parent_path();
  for (std::size_t level = 1; level < dots; ++level) {
    if (package.empty()) {
      return std::nullopt;
    }
    package = package.parent_path();
  }
  std::string base = package.generic_string();
  std::ranges::replace(base, '/', '.');
  const std::string rest = name.substr(dots);
  return base.empty() || rest.empty() ? base + rest : base + "." + rest;
}

bool is_source(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// Returns the files below `folder` that importing `name` runs: its packages' and its own.
std::vector<std::string> files_of_module(const fs::path& folder, const std::string& name) {
  std::vector<std::string> files;
  fs::path inside;
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    begin = end + 1;
    std::error_code ignored;
    if (fs::path file = inside / (part + ".py");
        is_source(folder / file) && !is_source(folder / inside / part / "__init__.py")) {
      files.push_back(file.generic_string());
      break;
    }
    inside /= part;
    if (!fs::is_directory(folder / inside, ignored)) {
      break;
    }
    if (is_source(folder / inside / "__init__.py")) {
      files.push_back((inside / "__init__.py").generic_string());
    }
  }
  return files;
}

}  // namespace

std::vector<std::string> imports_in(const std::string& text) {
  return ImportReader(PythonTokens(text).all()).all();
}

PythonSources read_python_sources(const PythonSpec& spec,
                                  const std::function<void(const fs::path&)>& look) {
  const fs::path folder = spec.folder();
  PythonSources sources;
  std::vector<std::string> waiting = files_of_module(folder, spec.module);  // packages' files
  waiting.push_back(spec.name_in_folder());
  while (!waiting.empty()) {
    const std::string next = waiting.back();
    waiting.pop_back();
    if (sources.contains(next)) {
      continue;
    }
    if (sources.size() == kMostSources) {
      throw ConfigError(
          fmt::format("{}: imports more than {} files of its folder", spec.file, kMostSources));
    }
    if (look) {
      look(fs::absolute(folder / next));
    }
    const std::string text = read_source(folder / next, spec.file);
    for (const std::string& name : imports_in(text)) {
      if (const auto absolute = absolute_name(name, next)) {
        std::ranges::copy(files_of_module(folder, *absolute), std::back_inserter(waiting));
      }
    }
    sources.emplace(next, text);
  }
  return sources;
}

std::string hashed_text(const PythonSpec& spec, const PythonSources& sources) {
  std::string all = spec.module + (spec.module.empty() ? "" : ":") + spec.python_class + "\n" +
                    spec.arguments + "\n";
  for (const auto& [path, text] : sources) {
    all += fmt::format("{}\n{}\n{}", path, text.size(), text);
  }
  return all;
}

PythonSources read_trusted_python(const PythonSpec& spec) {
  PythonSources sources = read_python_sources(spec, require_trusted);
  const std::string found = hash_of(hashed_text(spec, sources));
  if (!spec.hash.empty() && found != spec.hash) {
    throw ConfigError(fmt::format("{}: {} has changed: its XXH3-128 is {}, the job's is {}",
                                  spec.key, spec.file, found, spec.hash));
  }
  return sources;
}

}  // namespace gangway
