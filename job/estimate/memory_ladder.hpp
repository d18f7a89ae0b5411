// Remedies for a job that runs out of memory, cheapest first (docs/memory.md). Workers print them
// when that happens. Pure.
#pragma once

#include <string>
#include <vector>

#include "job/layout/layout.hpp"
#include "job/spec.hpp"

namespace gangway {

/// Share of a memory limit that a run may need; the rest is for other programs.
inline constexpr double kMostOfMemory = 0.9;

/// Returns the next remedy that changes no bit, as typed: "layout.recompute=true".
[[nodiscard]] std::string next_exact_rung(const Job& job, const Layout& layout);

/// Returns the other remedies, each of which makes it another job: "training.microbatches=8".
[[nodiscard]] std::vector<std::string> inexact_rungs(const Job& job);

}  // namespace gangway
