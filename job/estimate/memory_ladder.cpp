// SPDX-License-Identifier: MIT
#include "job/estimate/memory_ladder.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "job/estimate/dry_run.hpp"

namespace gangway {
namespace {

/// Returns the most micro-batches whose data for backward a worker keeps, if networks are cut.
int kept_at_once(const Job& job, const Layout& layout) {
  const int most = layout.most_in_flight();
  return most > 0 ? std::min(most, job.training.microbatches) : job.training.microbatches;
}

}  // namespace

std::string next_exact_rung(const Job& job, const Layout& layout) {
  if (job.numerics.device == DeviceKind::kCuda && layout.cuda_graph != GraphChoice::kOff) {
    return layout.cuda_graph == GraphChoice::kBranches ? "numerics.cuda_graph=on"
                                                       : "numerics.cuda_graph=off";
  }
  if (layout.is_cut()) {
    if (layout.schedule == StageOrder::kByPhase) {
      return "layout.schedule=1f1b";
    }
    if (const int kept = kept_at_once(job, layout); kept > 1) {
      return fmt::format("layout.in_flight={}", kept / 2);
    }
  }
  if (recompute_saves(job, layout)) {
    return "layout.recompute=true";
  }
  const int stages =
      2 * std::ranges::max_element(layout, {}, &NetworkGroup::num_chunks)->num_chunks();
  return fmt::format("layout.stages={} and {} workers", stages,
                     std::max(stages, 2 * layout.num_workers()));
}

std::vector<std::string> inexact_rungs(const Job& job) {
  std::vector<std::string> rungs;
  if (job.images_per_microbatch() % 2 == 0) {
    rungs.push_back(fmt::format("training.microbatches={}", 2 * job.training.microbatches));
  }
  if (std::ranges::any_of(job.networks, [](const NetworkSpec& network) {
        return network.precision == Precision::kFp32 || network.precision == Precision::kTf32;
      })) {
    rungs.emplace_back("numerics.precision=bf16");
  }
  if (job.training.batch % (2 * job.training.microbatches) == 0) {
    rungs.push_back(fmt::format("training.batch={}", job.training.batch / 2));
  }
  return rungs;
}

}  // namespace gangway
