// SPDX-License-Identifier: MIT
// What a job is read from, and the error of one that is wrong. Values; called as
// job/file/parse.hpp.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/errors.hpp"

namespace gangway {

struct JobSources {
  std::filesystem::path
      file;  ///< job file; with `text` only its name in messages; empty: defaults alone
  std::optional<std::string> text;  ///< content, instead of reading `file`
  std::vector<std::string>
      overrides;  ///< `training.kimg=80`, from the command line; the last one of a key counts
                  ///< `training.kimg=null` and `~training.kimg` take it back
  std::map<std::string, std::string>
      environment;  ///< GANGWAY_TRAINING_KIMG -> 80; names of no section are ignored
  /// Run directory that keeps the files of the job given as `text`; without `text` that is where
  /// `file` lies.
  std::filesystem::path run = {};
  /// What `text` was read from, the manifest of a checkpoint. A library that it names is loaded
  /// only where no other user can write there (base/system/trusted_code.hpp). Empty: `run`.
  std::filesystem::path origin = {};
  /// Whether its layout may name hosts: ResolvedJob::named_hosts. Else they are refused.
  bool may_name_hosts = false;
};

/// Everything that is wrong with a job; what() has one line a problem, each with its place and the
/// remedy.
class JobFileError : public ConfigError {
 public:
  explicit JobFileError(std::vector<std::string> problems);
  [[nodiscard]] const std::vector<std::string>& problems() const noexcept { return problems_; }

 private:
  std::vector<std::string> problems_;
};

}  // namespace gangway
