// SPDX-License-Identifier: MIT
// What a job may do where its memory is not enough, cheapest first (docs/memory.md). Said by
// workers that have run out of it. Pure.
#pragma once

#include <string>
#include <vector>

#include "job/layout/layout.hpp"
#include "job/spec.hpp"

namespace gangway {

/// Of a limit, what a run may need of it: the rest is kept for what else runs there.
inline constexpr double kMostOfMemory = 0.9;

/// The next thing to try that changes no bit, as it is typed: "layout.recompute=true".
[[nodiscard]] std::string next_exact_rung(const Job& job, const Layout& layout);

/// What else there is, each of which makes another job of it: "training.microbatches=8".
[[nodiscard]] std::vector<std::string> inexact_rungs(const Job& job);

}  // namespace gangway
