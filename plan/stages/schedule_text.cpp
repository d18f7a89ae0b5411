// SPDX-License-Identifier: MIT
#include "plan/stages/schedule_text.hpp"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <system_error>

#include <fmt/format.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "base/rank.hpp"
#include "pipeline/lists/list_checks.hpp"
#include "pipeline/lists/list_text.hpp"
#include "plan/staged_job.hpp"

namespace gangway::plan {
namespace {

/// Maximum of workers times micro-batches.
constexpr std::int64_t kMostWork = 1 << 16;

void require_readable(const PlanInput& input, const Candidate& candidate) {
  const std::int64_t work = std::int64_t{candidate.workers} * input.job.training.microbatches;
  if (work > kMostWork) {
    throw ConfigError(
        fmt::format("--schedule: {} workers and {} micro-batches make the list too long to read; "
                    "plan for fewer workers with -n, whose lists differ little",
                    candidate.workers, input.job.training.microbatches));
  }
}

}  // namespace

std::vector<std::string> schedule_texts(const PlanInput& input, const Candidate& candidate) {
  require_readable(input, candidate);
  const StagedJob staged = staged_job(input.job, input.costs.phases(), candidate);
  const PerNetwork<std::string> names = input.job.network_names();
  std::vector<std::int64_t> steps{0};
  if (std::ranges::any_of(staged.phases, [](const auto& one) { return one.interval > 1; })) {
    steps.push_back(1);
  }
  const std::vector<Lists> lists = lists_of_steps(staged, steps);
  std::vector<std::string> texts;
  for (int worker = 0; worker < staged.workers; ++worker) {
    texts.push_back(pipeline::heading_of(staged.layout, worker, names) + "\n");
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    pipeline::require_no_faults(lists[i], staged.phases, staged.layout, steps[i], names);
    for (std::size_t worker = 0; worker < texts.size(); ++worker) {
      texts[worker] += fmt::format("# step {}\n", steps[i]);
      for (const pipeline::Instruction& at : lists[i][worker]) {
        texts[worker] += pipeline::line_of(at, names) + "\n";
      }
    }
  }
  return texts;
}

void write_schedule(const std::vector<std::string>& texts, const std::filesystem::path& folder) {
  if (folder == "-") {
    for (const std::string& text : texts) {
      std::cout << text;
    }
    std::cout << std::flush;
    return;
  }
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    throw EnvironmentError(fmt::format("{}: {}; name a folder that can be made with --schedule",
                                       folder.string(), failed.message()));
  }
  for (WorkerIndex worker; worker.place() < texts.size(); ++worker) {
    write_file_atomically(folder / fmt::format("rank-{}.txt", rank_of(worker)),
                          texts[worker.place()]);
  }
  std::cout << fmt::format("Lists of {} worker{}: {}\n", texts.size(), texts.size() == 1 ? "" : "s",
                           folder.string())
            << std::flush;
}

}  // namespace gangway::plan
