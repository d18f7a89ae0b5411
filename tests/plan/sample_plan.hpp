// SPDX-License-Identifier: MIT
// A job with a profile whose figures are round, so that predictions can be counted by hand.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/instruction.hpp"
#include "plan/ranking/make_plan.hpp"

namespace gangway::plan {

/// Toy points; as many micro-batches as asked for.
[[nodiscard]] JobSpec sample_job(int microbatches, const std::vector<std::string>& more = {});

/// Of `job`, whose instructions take so long, without networks and blocks.
[[nodiscard]] Profile bare_profile(const JobSpec& job,
                                   const std::function<double(pipeline::Operation)>& seconds);
/// Of that job: a forward 1 ms, a backward 2 ms, nothing else of a micro-batch; both networks have
/// two blocks that cost alike, arenas in two buckets, and an update of 4 ms.
/// Adding and waking cost nothing.
[[nodiscard]] Profile sample_profile(const JobSpec& job);

/// One micro-batch through a step of the sample job: 5 forwards, 4 backwards.
inline constexpr double kMicrobatchSeconds = 0.013;
/// A whole network by one worker; there are two in a step.
inline constexpr double kUpdateSeconds = 0.004;

/// Of each network: 24 blocks, which 2, 3, 4, 6 and 12 workers share evenly.
inline constexpr std::int64_t kArenaElements = 24 * 4096;

/// `nodes` alike, whose links cost nothing.
[[nodiscard]] Cluster sample_cluster(int nodes, int devices);

/// The sample job data parallel.
[[nodiscard]] Candidate sample_whole(int workers, Overlap overlap = Overlap::kAcross,
                                     TransportKind transport = TransportKind::kShm);
/// In rows of two stages, both networks cut behind their first block.
[[nodiscard]] Candidate sample_stages(int workers);
/// One worker for each of the networks.
[[nodiscard]] Candidate sample_apart();

[[nodiscard]] std::unique_ptr<Planner> sample_planner(int microbatches, const Cluster& cluster);

}  // namespace gangway::plan
