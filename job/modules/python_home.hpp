// SPDX-License-Identifier: MIT
// An environment of Python's (a venv, conda's, uv's) as files: where its interpreter's library and
// its LibTorch lie, and whether that is ours. Nothing of it is run. Any thread.
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
/// loaded, whose folder is `torch`
/// @throws ConfigError of one line that begins with the place: no environment, not of CPython 3.11,
/// without a shared libpython, with another LibTorch, or one that others can write to
[[nodiscard]] PythonHome find_python(const std::string& chosen, const std::string& virtual_env,
                                     const std::filesystem::path& torch);

/// The linker's build id of an ELF file, in hexadecimal; empty: it has none.
[[nodiscard]] std::string elf_build_id(const std::filesystem::path& file);

}  // namespace gangway
