// SPDX-License-Identifier: MIT
#include "launch/checkpoints/run_lookup.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/text/parse_number.hpp"
#include "checkpoint/store/scan.hpp"
#include "run/run_directory.hpp"
#include "run/run_files.hpp"

namespace gangway::launch {

namespace fs = std::filesystem;

RunReference parse_run_reference(const std::string& text) {
  const std::size_t at = text.rfind('@');
  if (std::error_code ignored; at == std::string::npos || fs::is_directory(text, ignored)) {
    return {.run = text, .step = std::nullopt};
  }
  const auto step = parse_number<std::int64_t>(text.substr(at + 1));
  if (!step || *step < 0) {
    throw ConfigError(fmt::format("'{}': after @ comes the step of a checkpoint, as in {}@120",
                                  text, text.substr(0, at)));
  }
  return {.run = text.substr(0, at), .step = step};
}

fs::path find_run_directory(const RunReference& reference, const fs::path& outdir) {
  const fs::path folder = reference.run;
  std::error_code ignored;  // of names that no file can have
  const bool is_run = std::ranges::any_of(
      std::array{kJobFile, kLockFile, kCheckpointsFolder},
      [&](std::string_view name) { return fs::exists(folder / name, ignored); });
  if (!is_run) {  // perhaps pictures after which a run is named
    if (const auto found = find_run(outdir, reference.run)) {
      return *found;
    }
  }
  if (fs::is_directory(folder, ignored)) {
    return fs::absolute(folder);
  }
  throw ConfigError(
      fmt::format("no run '{}': it is neither a directory nor the name of a run in {} (--outdir)",
                  reference.run, outdir.string()));
}

std::optional<std::int64_t> newest_checkpoint(const fs::path& run_directory) {
  const auto entries = checkpoint::list_checkpoints(run_directory / kCheckpointsFolder);
  const checkpoint::CheckpointEntry* newest = checkpoint::newest_complete(entries);
  return newest == nullptr ? std::nullopt : std::optional(newest->step);
}

}  // namespace gangway::launch
