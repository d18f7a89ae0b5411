// SPDX-License-Identifier: MIT
// What `gangway tune` tries. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "job/spec.hpp"
#include "launch/tune/trial.hpp"
#include "plan/ranking/search.hpp"

namespace gangway::launch {

inline constexpr int kRounds = 3;               // of successive halving
inline constexpr std::size_t kRunsOfRound = 2;  // there and back
inline constexpr std::size_t kProofRounds = 5;

/// How many runs there will be at most, and about how long they take; a line, ended.
/// @param layouts, keys  that may be tried; start_seconds: of a run, beside the `seconds` it trains
[[nodiscard]] std::string length_text(std::size_t layouts, std::size_t keys, double start_seconds,
                                      double seconds);

/// Whether waits for data are the longest part of a step in its last run.
[[nodiscard]] bool waits_most_for_data(const Trial& typed);

/// The layouts that a plan ranks first and that fit, but for the one that `typed` has: `most` of
/// them, with as many workers as there are slots for.
[[nodiscard]] std::vector<Trial> layout_trials(const plan::Search& search,
                                               const plan::PlanInput& input, const Trial& typed,
                                               int slots, std::size_t most);

/// The other ways of overlapping, where nothing is known of other layouts.
[[nodiscard]] std::vector<Trial> overlap_trials(const JobSpec& job, const Trial& typed);

/// `best` with one key more that changes no bit: of what its last run waited for. @param job  as
/// `best` has it. @param cores  of this host
[[nodiscard]] std::vector<Trial> key_trials(const JobSpec& job, const Trial& best, int cores);

/// Of trials that have run in turns, the fastest first: the first three, those together that are
/// faster than the one called `best` by as much as is worth a key, and that one.
/// @param trials  each has the keys of `best`, and more
[[nodiscard]] std::vector<Trial> finalists(const std::string& best,
                                           const std::vector<Trial>& trials);

/// `best` with other numbers: micro-batches, memory format, precision, kernels.
/// @param most_workers  as many as the user wants, or as this host has cores or devices for
[[nodiscard]] std::vector<Trial> number_trials(const JobSpec& job, const Trial& best,
                                               int most_workers);

}  // namespace gangway::launch
