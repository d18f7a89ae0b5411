// SPDX-License-Identifier: MIT
// Source files of a user's Python class: the file that the job names, and the files in its folder
// that it imports, directly or not. A package counts from the folder above it. Finds import
// statements, in functions too; executes nothing. Other imports (importlib) are not found. Any
// thread.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "job/blocks/python_spec.hpp"

namespace gangway {

/// Texts by path below the folder: "nets.py", "layers/norm.py".
using PythonSources = std::map<std::string, std::string>;

/// Returns the dotted names of the modules that a Python text imports. `from a import b` gives "a"
/// and "a.b", because b may be a module. Relative names begin with a dot per level.
[[nodiscard]] std::vector<std::string> imports_in(const std::string& text);

/// Reads a class's file and its imports.
/// @param look  called for each file before it is read; may throw
/// @throws ConfigError of one line that begins with the file: missing, no regular file, or more
/// than 1,000 files
[[nodiscard]] PythonSources read_python_sources(
    const PythonSpec& spec, const std::function<void(const std::filesystem::path&)>& look = {});

/// Returns the text whose XXH3-128 is the hash of a class with its constructor's arguments.
[[nodiscard]] std::string hashed_text(const PythonSpec& spec, const PythonSources& sources);

/// Reads the files of a class that is about to run. @throws ConfigError: missing, not readable,
/// other than the job's, or another user could have written them
[[nodiscard]] PythonSources read_trusted_python(const PythonSpec& spec);

}  // namespace gangway
