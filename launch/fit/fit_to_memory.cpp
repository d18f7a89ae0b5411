// SPDX-License-Identifier: MIT
#include "launch/fit/fit_to_memory.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/system/control_groups.hpp"
#include "base/units.hpp"
#include "job/estimate/dry_run.hpp"
#include "job/estimate/memory_ladder.hpp"
#include "job/file/parse.hpp"
#include "launch/process/environment.hpp"
#include "launch/process/gpus.hpp"
#include "plan/ranking/make_plan.hpp"

namespace gangway::launch {
namespace {

double gibibytes(std::int64_t bytes) { return static_cast<double>(bytes) / kGibibyte; }

/// Returns the bytes that the job needs of its fullest device, by a profile if one fits.
std::int64_t expected_bytes(const JobSpec& job, int workers, const FitQuestion& question) {
  const ExpectedMemory expected = expected_memory(job, question.job_file, workers);
  const int gpus = question.memory.gpus;
  return expected.rows.empty()
             ? needed_bytes(job, workers, question.memory)
             : expected.bytes * (gpus > 0 ? (workers + gpus - 1) / gpus : workers);
}

}  // namespace

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

KnownMemory known_memory(DeviceKind kind, const DeviceFacts& facts,
                         const Environment& environment) {
  KnownMemory memory;
  if (kind == DeviceKind::kCuda) {
    memory.of = "GPU";
    memory.gpus = std::max(1, num_gpus());
    memory.bytes = facts.memory_bytes;
    if (!gpus().empty()) {
      const std::int64_t least = std::ranges::min(gpus(), {}, &Gpu::memory_bytes).memory_bytes;
      memory.bytes = least > 0 ? least : memory.bytes;
    }
    return memory;
  }
  // As the workers read it (worker/worker_program.cpp).
  const auto mount = find_variable(environment, "GANGWAY_CONTROL_GROUPS").value_or(kControlGroups);
  const MemoryLimit limit =
      smallest_limit(control_groups(mount, own_groups(), "memory"), "/proc/meminfo");
  memory.of = limit.of;
  memory.bytes = static_cast<std::int64_t>(limit.limit_bytes);
  return memory;
}

FitLimits FitQuestion::limits(int workers) const {
  FitLimits limits{
      .memory = memory,
      .given = given,
      .most_workers = typed_workers > 0 ? typed_workers : std::max(workers, memory.gpus),
      .by = is_asked ? FitBy::kMicrobatches : FitBy::kLayout};
  if (is_asked) {
    limits.memory.bytes =
        static_cast<std::int64_t>(kMostOfMemory * static_cast<double>(memory.bytes));
  }
  return limits;
}

FitAnswer fit_to_memory(const JobSpec& settled, int workers, const FitQuestion& question) {
  FitAnswer answer;
  const FitLimits limits = question.limits(workers);
  if (question.memory.bytes == 0) {
    return answer;
  }
  const std::int64_t needed = expected_bytes(settled, workers, question);
  if (needed <= limits.memory.bytes) {
    return answer;
  }
  const std::string lack =
      fmt::format("the job needs an estimated {:.2f} GiB of the {:.2f} GiB of the {}",
                  gibibytes(needed), gibibytes(question.memory.bytes), question.memory.of);
  answer.found = find_fitting(settled, workers, limits);
  if (answer.found) {
    answer.line = fmt::format("{}: {}", lack, told_changes(settled, *answer.found));
    return answer;
  }
  const std::vector<std::string> inexact = inexact_rungs(settled);
  answer.line = fmt::format(
      "{}, and no layout of it needs less: {}", lack,
      question.is_asked
          ? fmt::format("nor do more micro-batches; numbers change with {} (docs/memory.md)",
                        inexact.empty() ? "a smaller model"
                                        : fmt::format("{}", fmt::join(inexact, ", or ")))
          : "--fit finds micro-batches that fit, which make it another job (docs/memory.md)");
  return answer;
}

std::string told_changes(const JobSpec& from, const FittingJob& found) {
  const std::string keys = fmt::format("{}", fmt::join(changed_keys(from, found.job), " "));
  return fmt::format(
      "{} {} ({:.2f} GiB, {} worker{})",
      from.training.microbatches == found.job.training.microbatches
          ? "no bit changes with"
          : fmt::format("ANOTHER JOB, with other numbers than with {} micro-batches, is",
                        from.training.microbatches),
      keys, gibibytes(found.needed_bytes), found.workers, found.workers == 1 ? "" : "s");
}

}  // namespace gangway::launch
