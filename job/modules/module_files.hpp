// SPDX-License-Identifier: MIT
// The files of a job with Python of the user's (model.generator: nets.py:Generator, and what that
// imports), or with a style picture (training.style.picture): found and hashed
// when a job is loaded, kept in the run directory when it begins, read where networks are made.
// Their hashes belong to the job, their places do not. Any thread.
#pragma once

#include <filesystem>
#include <string>

#include "job/models/architecture.hpp"
#include "job/modules/python_sources.hpp"
#include "job/spec.hpp"

namespace gangway {

/// Below a run directory, with the style picture, and the user's library.
inline constexpr const char* kModulesFolder = "networks";

/// Below a run directory, with a folder for each Python class, named by its hash.
inline constexpr const char* kPythonFolder = "python";

/// Fills in the hashes that the job does not give. A file that is not at its place, or is another
/// one there, may be the one kept in the run directory `beside`, whose job.yaml this is.
/// @throws ConfigError naming key and file: missing, a folder, another one than the job's, or a
/// style picture that is none
void settle_modules(JobSpec& job, const std::filesystem::path& beside);

/// Copies the files into the run directory, where they are not yet. @throws ConfigError as
/// read_python; EnvironmentError
void keep_modules(const JobSpec& job, const std::filesystem::path& run);

/// From now on the job's files are those that the run directory keeps, where it keeps any.
void use_kept_modules(Job& job, const std::filesystem::path& run);

/// The files of a Python class, by their paths below its folder. @throws ConfigError: missing, not
/// readable, or others than the job's
[[nodiscard]] PythonSources read_python(const PythonSpec& spec);
/// The same, of files that no other user could have written. @throws ConfigError of others
[[nodiscard]] PythonSources read_trusted_python(const PythonSpec& spec);
/// The same of the style picture. @pre the job has one
[[nodiscard]] std::string read_style_file(const Job& job);

}  // namespace gangway
