// SPDX-License-Identifier: MIT
// A file of a user's library: looked at before any of its code runs, then loaded until the process
// ends. Called where a job file is read, and where networks are made; any thread.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace gangway {

/// What this program's headers are: version and hash, "0.1.0-1a2b3c4d5e6f". A library that was
/// built against others has other ideas of where the members of our types lie.
[[nodiscard]] std::string_view library_interface();

/// The whole file. @throws ConfigError: missing, a folder, or not to be read
[[nodiscard]] std::string read_library(const std::filesystem::path& file);

class SharedLibrary {
 public:
  /// @param torch  LibTorch's version where its code will use LibTorch, "2.11.0"; empty: it will
  /// not
  /// @throws ConfigError of one line that begins with the file: missing, no library of Gangway's,
  /// built for another version of it or of LibTorch, refused by the dynamic linker, or one that
  /// another user could have written (base/system/trusted_code.hpp)
  explicit SharedLibrary(const std::filesystem::path& file, std::string_view torch = {});

  /// @throws ConfigError where it has no function of that name
  template <typename Function>
  [[nodiscard]] Function* function(const char* name) const {
    return reinterpret_cast<Function*>(require(name));
  }
  /// Null where it has none.
  template <typename Function>
  [[nodiscard]] Function* find_function(const char* name) const {
    return reinterpret_cast<Function*>(find(name));
  }

 private:
  [[nodiscard]] void* find(const char* name) const;
  [[nodiscard]] void* require(const char* name) const;

  std::filesystem::path file_;
  void* handle_ = nullptr;  // never closed: rows and blocks of it are in use to the end
};

}  // namespace gangway
