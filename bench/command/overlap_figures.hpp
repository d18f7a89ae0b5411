// SPDX-License-Identifier: MIT
// What `gangway bench overlap` reads from the runs that it has made, and the table it makes of it.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gangway::bench {

/// Of one run, per step.
struct StepFigures {
  double seconds = 0.0;          ///< median over its ticks
  double exposed_seconds = 0.0;  ///< compute waiting for communication, worst worker, mean
  double sent_bytes = 0.0;       ///< payload of all workers, mean
};

/// @param stats  a run's stats.jsonl; ticks that begin before step `warmup_steps` do not count.
/// @throws EnvironmentError where none is left, or a line is none of a tick.
[[nodiscard]] StepFigures step_figures(std::string_view stats, std::int64_t warmup_steps);

/// Rounds of one way to run the job.
struct OverlapRow {
  std::string transport;
  std::string overlap;  ///< none, within, across
  std::vector<StepFigures> rounds;
};

/// What no schedule goes below.
struct OverlapBound {
  double compute_seconds = 0.0;  ///< of a step without any exchange
  double link_bytes_per_second =
      0.0;  ///< of a host, each way; 0: unknown, the wire then counts nothing
  int num_hosts = 1;
};

/// Medians and minima of the rounds. The hidden share of a row is 1 - exposed / exposed of the same
/// transport with overlap none; the bound is the larger one of compute and wire, wire being what a
/// host sends at the link's rate.
[[nodiscard]] std::string overlap_table(const std::vector<OverlapRow>& rows,
                                        const OverlapBound& bound);

}  // namespace gangway::bench
