// SPDX-License-Identifier: MIT
// How a job names a network that is the user's Python: `nets.py:Generator`, or with arguments of
// the constructor `{python: nets.py:Generator, width: 64}`. Used by job/keys/. Pure.
#pragma once

#include <string>

#include "job/schema/yaml_tree.hpp"
#include "job/spec.hpp"

namespace gangway {

/// Whether it names a Python network, or arguments of one, well or not.
[[nodiscard]] bool is_about_python(const YamlNode& node);

/// What is wrong with a text that names none: "expected FILE.py:CLASS, …".
[[nodiscard]] std::string class_expected(const YamlNode& node);

/// Takes it over. A map without the word python has arguments alone, which are set beside those
/// that `module` has. @return what is wrong with it, or nothing
[[nodiscard]] std::string read_python_call(const YamlNode& node, ModuleFile& module);

/// The same as YAML on one line. @pre module.is_python()
[[nodiscard]] std::string python_call_text(const ModuleFile& module);

}  // namespace gangway
