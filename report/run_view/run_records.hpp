// SPDX-License-Identifier: MIT
// Reads the small records of a run directory as JSON, for RunView's document (docs/control.md).
// Omits missing and damaged records, so that a run that failed early has a page too. Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace gangway::report {

/// Returns each key of job.yaml by its full name, "generator.optimizer.adam.lr", with its value as
/// written.
[[nodiscard]] std::map<std::string, std::string> job_keys(const std::filesystem::path& run);

/// Returns job_keys() and the keys that only advice rules use: kMemoryRung, kIsCut.
[[nodiscard]] std::map<std::string, std::string> advice_keys(const std::filesystem::path& run);

/// Returns {"state": "running|finished|stopped|failed|interrupted|unknown", "exit_code", "reason",
/// "error"}.
[[nodiscard]] nlohmann::ordered_json run_state(const std::filesystem::path& run);

/// Returns [{"rank", "role", "host", "device", "pid", "microbatches": [first, end]}], the
/// coordinator first.
[[nodiscard]] nlohmann::ordered_json worker_list(const std::filesystem::path& run);

/// Returns [{"step", "kimg", "bytes", "files", "created", "status", "damage", "is_pinned",
/// "is_best", "score", "metric"}], newest first.
[[nodiscard]] nlohmann::ordered_json checkpoint_list(const std::filesystem::path& run);

/// Returns [{"file", "kind": "fakes|reals", "kimg", "step", "bytes", "width", "height"}], real
/// examples first, then by kimg. A WAV file of the same name adds "sound" and "sound_bytes".
/// `steps`: known steps by file; for other files `images_per_step` gives the step.
[[nodiscard]] nlohmann::ordered_json picture_list(const std::filesystem::path& run,
                                                  const std::map<std::string, std::int64_t>& steps,
                                                  double images_per_step);

}  // namespace gangway::report
