// SPDX-License-Identifier: MIT
#include "job/library/shared_library.hpp"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/system/trusted_code.hpp"
#include "job/library/interface_version.hpp"  // written by cmake/WriteInterface.cmake

namespace gangway {
namespace {

namespace fs = std::filesystem;

/// Mark that gan/library/library_interface.cpp leaves in every library. Searched in the bytes,
/// because dlopen() would run code, and stop at names that another version lacks.
constexpr std::string_view kMark = "gangway-library-interface ";
constexpr std::string_view kAdvice =
    "build it again against this installation (find_package(Gangway), docs/python.md)";

struct Interface {
  std::string_view headers;
  std::string_view torch;
};

/// Parses "… 0.1.0-1a2b3c4d5e6f 2.11.0", up to a zero byte.
Interface interface_in(const std::string& bytes, const fs::path& file) {
  const std::size_t mark = bytes.find(kMark);
  if (mark == std::string::npos) {
    throw ConfigError(
        fmt::format("{}: is no library for Gangway: gangway_add_library() of CMake makes one "
                    "(docs/python.md)",
                    file.string()));
  }
  const std::size_t begin = mark + kMark.size();
  const std::string_view text(bytes.data() + begin, bytes.find('\0', begin) - begin);
  const std::size_t space = text.find(' ');
  return {.headers = text.substr(0, space),
          .torch = space == std::string_view::npos ? std::string_view() : text.substr(space + 1)};
}

void require_same(const Interface& found, std::string_view torch, const fs::path& file) {
  if (found.headers != library_interface()) {
    throw ConfigError(fmt::format("{}: is built for Gangway {}, and this is {}: {}", file.string(),
                                  found.headers, library_interface(), kAdvice));
  }
  if (!torch.empty() && found.torch != torch) {
    throw ConfigError(fmt::format("{}: is built with LibTorch {}, and this is {}: {}",
                                  file.string(), found.torch, torch, kAdvice));
  }
}

/// Returns the dynamic linker's reason, without the file, which our message already names.
std::string linker_complaint(const fs::path& file) {
  const char* said = ::dlerror();
  std::string text = said == nullptr ? "cannot be loaded" : said;
  const std::string start = file.string() + ": ";
  return text.starts_with(start) ? text.substr(start.size()) : text;
}

}  // namespace

std::string_view library_interface() { return GANGWAY_LIBRARY_INTERFACE; }

std::string read_library(const fs::path& file) {
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) {
    throw ConfigError(fmt::format("{}: is a folder; name a shared library", file.string()));
  }
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  if (!stream.is_open() || stream.bad()) {
    throw ConfigError(
        fmt::format("{}: {}", file.string(),
                    errno == 0 ? "cannot be read" : std::generic_category().message(errno)));
  }
  return bytes;
}

SharedLibrary::SharedLibrary(const fs::path& file, std::string_view torch)
    : file_(fs::absolute(file)) {  // dlopen() searches other folders for a bare name
  require_trusted(file);
  const std::string bytes = read_library(file);
  require_same(interface_in(bytes, file), torch, file);
  // Resolves all names now, so that a missing name fails here, not in the middle of a step.
  handle_ = ::dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    throw ConfigError(
        fmt::format("{}: cannot be loaded: {}; its rows may not use LibTorch; the library may use "
                    "only what the installed headers declare and what it links (docs/python.md)",
                    file.string(), linker_complaint(file_)));
  }
}

void* SharedLibrary::find(const char* name) const { return ::dlsym(handle_, name); }

void* SharedLibrary::require(const char* name) const {
  void* found = find(name);
  if (found == nullptr) {
    throw ConfigError(fmt::format("{}: has no {}(); its library has to define it (docs/python.md)",
                                  file_.string(), name));
  }
  return found;
}

}  // namespace gangway
