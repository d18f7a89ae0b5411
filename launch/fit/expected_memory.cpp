// SPDX-License-Identifier: MIT
#include "launch/fit/expected_memory.hpp"

#include <optional>

#include <fmt/format.h>

#include "job/estimate/dry_run.hpp"
#include "plan/ranking/make_plan.hpp"

namespace gangway::launch {

ExpectedMemory expected_memory(const JobSpec& job, const std::filesystem::path& job_file,
                               int workers) {
  const std::optional<std::filesystem::path> profile = plan::find_profile(job_file);
  const std::optional<plan::WorkerMemory> memory =
      profile ? plan::planned_memory(job, *profile, workers) : std::nullopt;
  if (!memory) {
    return {.bytes = estimate_memory(job, workers).total_bytes(), .rows = {}};
  }
  std::string rows = fmt::format("(from {}, as in `gangway plan`)\n", profile->string());
  const auto row = [&](const char* what, std::int64_t bytes) {
    constexpr double kMebibyte = 1U << 20U;
    rows += fmt::format("  {:<22} {:>6.0f} MiB\n", what, static_cast<double>(bytes) / kMebibyte);
  };
  row("process and libraries", memory->process_bytes);
  row("arenas", memory->arenas_bytes);
  row("snapshots", memory->snapshots_bytes);
  row("compute", memory->working_bytes);
  row("other", memory->other_bytes);
  row("total", memory->total_bytes());
  return {.bytes = memory->total_bytes(), .rows = std::move(rows)};
}

}  // namespace gangway::launch
