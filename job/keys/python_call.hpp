// SPDX-License-Identifier: MIT
// Parses a job's value for a class of the user's Python: `nets.py:Generator`, of a package
// `src/R3GAN.Networks:Generator`, or with constructor arguments `{python: nets.py:Generator, width:
// 64}`. Used by job/keys/. Pure.
#pragma once

#include <string>

#include "job/schema/yaml_tree.hpp"
#include "job/spec.hpp"

namespace gangway {

/// Returns whether the value is meant as a Python network or its arguments, right or wrong.
[[nodiscard]] bool is_about_python(const YamlNode& node);

/// Returns the complaint about a text without a class: "expected FILE.py:CLASS, …".
[[nodiscard]] std::string class_expected(const YamlNode& node);

/// Reads the value into `module`. A map without the word python has only arguments, which are added
/// to those of `module`. @return the complaint, or nothing
[[nodiscard]] std::string read_python_call(const YamlNode& node, ModuleFile& module);

/// Returns it as YAML on one line. @pre module.is_python()
[[nodiscard]] std::string python_call_text(const ModuleFile& module);

}  // namespace gangway
