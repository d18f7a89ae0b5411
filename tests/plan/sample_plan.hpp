// SPDX-License-Identifier: MIT
// A job with a profile of round figures, so that tests can compute predictions by hand.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/instruction.hpp"
#include "plan/ranking/make_plan.hpp"

namespace gangway::plan {

/// Returns a job on toy points with so many micro-batches.
[[nodiscard]] JobSpec sample_job(int microbatches, const std::vector<std::string>& more = {});

/// Returns a profile of `job` whose instructions take so long, without networks and blocks.
[[nodiscard]] Profile bare_profile(const JobSpec& job,
                                   const std::function<double(pipeline::Operation)>& seconds);
/// Returns a profile with forwards of 1 ms, backwards of 2 ms, and no other work of a micro-batch.
/// Both networks have two blocks of equal cost, arenas in two buckets, and an update of 4 ms.
/// Adding and waking cost nothing.
[[nodiscard]] Profile sample_profile(const JobSpec& job);

/// One micro-batch in a step of the sample job: 5 forwards, 4 backwards.
inline constexpr double kMicrobatchSeconds = 0.013;
/// One worker updates a whole network; a step has two updates.
inline constexpr double kUpdateSeconds = 0.004;

/// Each network has 24 blocks, which 2, 3, 4, 6 and 12 workers share evenly.
inline constexpr std::int64_t kArenaElements = 24 * 4096;

/// `nodes` equal nodes, whose links cost nothing.
[[nodiscard]] Cluster sample_cluster(int nodes, int devices);

/// The sample job, data-parallel.
[[nodiscard]] Candidate sample_whole(int workers, Overlap overlap = Overlap::kAcross,
                                     TransportKind transport = TransportKind::kShm);
/// Rows of two stages; both networks are cut after their first block.
[[nodiscard]] Candidate sample_stages(int workers);
/// One worker for each network.
[[nodiscard]] Candidate sample_apart();

[[nodiscard]] std::unique_ptr<Planner> sample_planner(int microbatches, const Cluster& cluster);

}  // namespace gangway::plan
