// SPDX-License-Identifier: MIT
// Finds a Python environment (a venv, conda's, uv's) by its files: the interpreter's library, and a
// LibTorch that must be ours. Runs nothing of it. Any thread.
#pragma once

#include <filesystem>
#include <string>

#include "base/environment.hpp"

namespace gangway {

struct PythonHome {
  std::filesystem::path executable;  ///< "/home/me/.venv/bin/python"
  std::filesystem::path library;     ///< "/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0"
  std::filesystem::path torch;       ///< the folder of its package torch
};

/// @param chosen  layout.python: a folder, or the interpreter in its bin/; empty: $VIRTUAL_ENV, or
/// without that the environment of the LibTorch that this program has loaded, from the folder
/// `torch`
/// @param torch  …/lib/python3.11/site-packages/torch: its Python is the one that is needed
/// @throws ConfigError of one line that begins with the place: no environment, another Python, no
/// shared libpython, another LibTorch, or writable by other users
[[nodiscard]] PythonHome find_python(const std::string& chosen, const Environment& environment,
                                     const std::filesystem::path& torch);

/// Returns the folder of the package torch that this program loads LibTorch from: beside a wheel's
/// programs, else the one of the build.
[[nodiscard]] std::filesystem::path torch_folder();

/// Returns the linker's build id of an ELF file, in hexadecimal; empty: none.
[[nodiscard]] std::string elf_build_id(const std::filesystem::path& file);

}  // namespace gangway
