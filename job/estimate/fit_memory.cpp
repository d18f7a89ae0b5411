// SPDX-License-Identifier: MIT
#include "job/estimate/fit_memory.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "job/estimate/device_estimate.hpp"
#include "job/estimate/dry_run.hpp"
#include "job/rules/rules.hpp"

namespace gangway {
namespace {

using Candidate = std::pair<JobSpec, int>;  // with its workers

/// Pages of LibTorch's libraries, once they are loaded. A host has them once for all workers.
constexpr std::int64_t kLibraryBytes = 111LL << 20U;

/// Returns `candidates`, and behind them those that `change` changes.
template <typename Change>
std::vector<Candidate> and_with(std::vector<Candidate> candidates, const Change& change) {
  for (std::size_t i = 0, size = candidates.size(); i < size; ++i) {
    Candidate changed = candidates[i];
    if (change(changed.first)) {
      candidates.push_back(std::move(changed));
    }
  }
  return candidates;
}

/// Returns `begun` and its changes that keep the stages, cheapest first (docs/memory.md).
std::vector<Candidate> with_less_kept(Candidate begun, const std::set<std::string>& given) {
  std::vector<Candidate> all{std::move(begun)};
  all = and_with(std::move(all), [&](JobSpec& job) {
    const bool is_changed = job.numerics.device == DeviceKind::kCuda &&
                            job.layout.cuda_graph != GraphChoice::kOff &&
                            !given.contains("numerics.cuda_graph");
    job.layout.cuda_graph = GraphChoice::kOff;
    return is_changed;
  });
  all = and_with(std::move(all), [&](JobSpec& job) {
    const bool is_changed = job.layout.cuts_networks() &&
                            job.layout.schedule != StageOrder::kOneForwardOneBackward &&
                            !given.contains("layout.schedule");
    job.layout.schedule = StageOrder::kOneForwardOneBackward;
    return is_changed;
  });
  return and_with(std::move(all), [&](JobSpec& job) {
    const bool is_changed = !job.layout.recompute && !given.contains("layout.recompute");
    job.layout.recompute = true;
    return is_changed;
  });
}

/// Returns the changes of `job` that change no bit, cheapest first; some are no valid layouts.
std::vector<Candidate> exact_changes(const JobSpec& job, int workers, const FitLimits& limits) {
  std::vector<Candidate> all = with_less_kept({job, workers}, limits.given);
  if (limits.memory.gpus == 0 || job.layout.places_networks() ||
      limits.given.contains("layout.stages")) {
    return all;
  }
  for (int stages = 2; stages <= limits.most_workers; stages *= 2) {
    JobSpec cut = job;
    cut.layout.stages = stages;
    const int most = std::min(limits.most_workers, stages * job.training.microbatches);
    std::ranges::move(with_less_kept({std::move(cut), most / stages * stages}, limits.given),
                      std::back_inserter(all));
  }
  return all;
}

/// Returns the bytes that a candidate needs; nullopt: the job's rules refuse it.
std::optional<std::int64_t> needs(const Candidate& candidate, const DeviceMemory& memory) {
  const auto& [job, workers] = candidate;
  if (!broken_rule(job).empty()) {
    return std::nullopt;
  }
  try {
    require_workers(job, workers);
    return needed_bytes(job, workers, memory);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

}  // namespace

std::int64_t needed_bytes(const JobSpec& job, int workers, const DeviceMemory& memory) {
  const std::vector<MemoryEstimate> all = estimate_workers(job, resolve_layout(job, workers));
  std::int64_t sum = 0;
  std::int64_t most = 0;
  for (const MemoryEstimate& worker : all) {
    sum += worker.total_bytes();
    most = std::max(most, worker.total_bytes());
  }
  if (memory.gpus > 0) {
    return (workers + memory.gpus - 1) / memory.gpus * most;
  }
  return sum - (workers - 1) * kLibraryBytes;
}

std::optional<FittingJob> find_fitting(const JobSpec& job, int workers, const FitLimits& limits) {
  for (JobSpec more = job;; more.training.microbatches *= 2) {
    for (Candidate& candidate : exact_changes(more, workers, limits)) {
      const auto bytes = needs(candidate, limits.memory);
      if (bytes && *bytes <= limits.memory.bytes) {
        return FittingJob{
            .job = std::move(candidate.first), .workers = candidate.second, .needed_bytes = *bytes};
      }
    }
    if (limits.by == FitBy::kLayout || more.images_per_microbatch() % 2 != 0) {
      return std::nullopt;
    }
  }
}

}  // namespace gangway
