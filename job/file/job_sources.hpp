// Inputs from which a job is read, and the error for a wrong job. Values; used as in
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
      overrides;  ///< `training.kimg=80`, from the command line; the last one of a key counts.
                  ///< `training.kimg=null` and `~training.kimg` undo it
  std::map<std::string, std::string>
      environment;  ///< GANGWAY_TRAINING_KIMG -> 80; names outside all sections are ignored
  /// Run directory that keeps the files of a job given as `text`. Without `text`: where `file`
  /// lies.
  std::filesystem::path run = {};
  /// Source of `text`, such as the manifest of a checkpoint. A library that it names is loaded only
  /// if no other user can write there (base/system/trusted_code.hpp). Empty: `run`.
  std::filesystem::path origin = {};
  /// Whether its layout may name hosts (ResolvedJob::named_hosts); false: they are refused.
  bool may_name_hosts = false;
  /// Whether Gangway wrote it, perhaps an earlier version; false: a user's, where keys of earlier
  /// versions are refused.
  bool is_stored = false;
};

/// All problems of a job. what() has one line per problem, with its place and the remedy.
class JobFileError : public ConfigError {
 public:
  explicit JobFileError(std::vector<std::string> problems);
  [[nodiscard]] const std::vector<std::string>& problems() const noexcept { return problems_; }

 private:
  std::vector<std::string> problems_;
};

}  // namespace gangway
