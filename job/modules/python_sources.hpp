// SPDX-License-Identifier: MIT
// The files of which a user's Python network is made: the one that the job names, and all in its
// folder that it imports, however indirectly. Found by their import statements, in functions too;
// nothing is executed. What is imported in other ways (importlib) is not found. Any thread.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace gangway {

/// By their paths below the folder: "nets.py", "layers/norm.py".
using PythonSources = std::map<std::string, std::string>;

/// Modules that a Python text imports absolutely, by their dotted names: those that it names and,
/// of `from a import b`, "a.b" as well, which may be one. Relative ones begin with a dot for each
/// level.
[[nodiscard]] std::vector<std::string> imports_in(const std::string& text);

/// The file and what it imports from its folder.
/// @param look  at each before it is read; may throw
/// @throws ConfigError of one line that begins with the file: missing, no regular file, or more
/// than 1,000 files
[[nodiscard]] PythonSources read_python_sources(
    const std::filesystem::path& file,
    const std::function<void(const std::filesystem::path&)>& look = {});

/// One text with everything in it, of which hashes are taken.
[[nodiscard]] std::string joined_sources(const PythonSources& sources);

}  // namespace gangway
