// SPDX-License-Identifier: MIT
// A job's files with the user's Python (model.generator: nets.py:Generator, and its imports) or
// with a style picture (training.style.picture). They are found and hashed when a job loads, kept
// in the run directory when it begins, and read when networks are made. Their hashes belong to the
// job, their paths do not. Any thread.
#pragma once

#include <filesystem>
#include <string>

#include "job/spec.hpp"

namespace gangway {

/// Folder in a run directory, with the style picture and the user's library.
inline constexpr const char* kModulesFolder = "networks";

/// Folder in a run directory, with a folder per Python class, named by its hash.
inline constexpr const char* kPythonFolder = "python";

/// Fills in the hashes that the job does not give. If a file at its place is missing or differs,
/// uses the copy in the run directory `beside`, from which job.yaml came.
/// @throws ConfigError with key and file: missing, a folder, other than the job's, or not a picture
void settle_modules(JobSpec& job, const std::filesystem::path& beside);

/// Copies the files into the run directory unless they are there. @throws ConfigError as
/// read_style_file; EnvironmentError
void keep_modules(const JobSpec& job, const std::filesystem::path& run);

/// Replaces the job's files by the copies in the run directory, if it has them.
void use_kept_modules(Job& job, const std::filesystem::path& run);

/// Returns the style picture. @pre the job has one
/// @throws ConfigError: missing, not readable, or other than the job's
[[nodiscard]] std::string read_style_file(const Job& job);

}  // namespace gangway
