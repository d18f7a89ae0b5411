// SPDX-License-Identifier: MIT
// The small records of a run directory as JSON: parts of RunView's document (docs/control.md).
// What is missing or damaged is left out: a run that failed in its first second has a page too. Any
// thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace gangway::report {

/// Each key of job.yaml by its whole name, "generator.optimizer.adam.lr", with its value as it is
/// written there.
[[nodiscard]] std::map<std::string, std::string> job_keys(const std::filesystem::path& run);

/// The same, and what the rules of advice ask for besides: kMemoryRung, kIsCut.
[[nodiscard]] std::map<std::string, std::string> advice_keys(const std::filesystem::path& run);

/// {"state": "running|finished|stopped|failed|interrupted|unknown", "exit_code", "reason",
/// "error"}.
[[nodiscard]] nlohmann::ordered_json run_state(const std::filesystem::path& run);

/// [{"rank", "role", "host", "device", "pid", "microbatches": [first, end]}], the coordinator
/// first.
[[nodiscard]] nlohmann::ordered_json worker_list(const std::filesystem::path& run);

/// [{"step", "kimg", "bytes", "files", "created", "status", "damage", "is_pinned", "is_best",
/// "score", "metric"}], newest first.
[[nodiscard]] nlohmann::ordered_json checkpoint_list(const std::filesystem::path& run);

/// [{"file", "kind": "fakes|reals", "kimg", "step", "bytes", "width", "height"}], and "sound" and
/// "sound_bytes" where a WAV file of its name lies beside it: real examples first, then by kimg.
/// `steps`: of files whose step is known; `images_per_step` tells the others'.
[[nodiscard]] nlohmann::ordered_json picture_list(const std::filesystem::path& run,
                                                  const std::map<std::string, std::int64_t>& steps,
                                                  double images_per_step);

}  // namespace gangway::report
