// A file of a user's library: checked before any of its code runs, then loaded until the process
// ends. Called where a job file is read, and where networks are made; any thread.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace gangway {

/// Returns version and hash of this program's headers: "0.1.0-1a2b3c4d5e6f". A library built
/// against other headers may lay out our types differently.
[[nodiscard]] std::string_view library_interface();

/// Reads the whole file. @throws ConfigError: missing, a folder, or not readable
[[nodiscard]] std::string read_library(const std::filesystem::path& file);

class SharedLibrary {
 public:
  /// @param torch  LibTorch's version, "2.11.0", if the library uses LibTorch; else empty
  /// @throws ConfigError of one line that begins with the file: missing; not a library of
  /// Gangway's; built for another version of it or of LibTorch; refused by the dynamic linker; or
  /// writable by another user (base/system/trusted_code.hpp)
  explicit SharedLibrary(const std::filesystem::path& file, std::string_view torch = {});

  /// @throws ConfigError if it has no function of that name
  template <typename Function>
  [[nodiscard]] Function* function(const char* name) const {
    return reinterpret_cast<Function*>(require(name));
  }
  /// Returns null if it has none.
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
