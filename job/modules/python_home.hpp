// SPDX-License-Identifier: MIT
// Finds a Python environment (a venv, conda's, uv's) by its files: the interpreter's library, and a
// LibTorch that must be ours. Runs nothing of it. Any thread.
#pragma once

#include <filesystem>
#include <string>

namespace gangway {

struct PythonHome {
  std::filesystem::path executable;  ///< "/home/me/.venv/bin/python"
  std::filesystem::path library;     ///< libpython3.11.so.1.0
  std::filesystem::path torch;       ///< the folder of its package torch
};

/// @param chosen  layout.python: a folder, or the interpreter in its bin/; empty: `virtual_env`
/// @param virtual_env  $VIRTUAL_ENV; empty: the environment of the LibTorch that this program has
/// loaded, from the folder `torch`
/// @throws ConfigError of one line that begins with the place: no environment, not CPython 3.11, no
/// shared libpython, another LibTorch, or writable by other users
[[nodiscard]] PythonHome find_python(const std::string& chosen, const std::string& virtual_env,
                                     const std::filesystem::path& torch);

/// Returns the folder of the package torch that this program loads LibTorch from: beside a wheel's
/// programs, else the one of the build.
[[nodiscard]] std::filesystem::path torch_folder();

/// Returns the linker's build id of an ELF file, in hexadecimal; empty: none.
[[nodiscard]] std::string elf_build_id(const std::filesystem::path& file);

}  // namespace gangway
