// SPDX-License-Identifier: MIT
// Compares arithmetic: of the workers of one start, and of a run now and at its checkpoint. The
// bits of a trial decide (worker/arithmetic/trial_microbatch.hpp); facts about processors and
// libraries only explain a difference. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "job/layout_choice.hpp"
#include "run/messages/messages.hpp"

namespace gangway::coordinator {

struct ArithmeticOfRank {
  Rank rank{};
  std::string host;
  messages::Arithmetic arithmetic;
};

struct ArithmeticVerdict {
  /// The run's arithmetic; if different workers are allowed, its bits are kMixedBits.
  messages::Arithmetic common;
  Rank refused_rank{};  ///< rank that is refused; 0: none
  std::string refusal;  ///< one line: ranks that differ, the difference, the remedy
  std::string note;     ///< one line; empty: all workers are equal
};

inline constexpr std::string_view kMixedBits = "mixed";

/// Compares the ranks; the run's bits are the most frequent, on a tie the lowest rank's.
/// @param before  of the previous start; its bits are the run's wherever comparable; no bits: there
/// was no previous start
[[nodiscard]] ArithmeticVerdict compare_arithmetic(const std::vector<ArithmeticOfRank>& ranks,
                                                   MixedProcessors choice,
                                                   const messages::Arithmetic& before = {});

/// Returns the facts in which `one` differs from `other`, as "instructions AVX2, not AVX512;
/// MKL_CBWR unset, not AVX2; flags without avx512f"; empty if no fact known of both differs.
[[nodiscard]] std::string differing_facts(const messages::Arithmetic& one,
                                          const messages::Arithmetic& other);

/// Versions and names of the software that computed a checkpoint's state.
using Software = std::map<std::string, std::string>;

/// Returns `arithmetic` as members of a manifest's `software`.
[[nodiscard]] Software software_of(const messages::Arithmetic& arithmetic);
/// Returns the arithmetic in `software`; an older manifest holds none.
[[nodiscard]] messages::Arithmetic arithmetic_of(const Software& software);
/// Whether software_of() makes a member of that name.
[[nodiscard]] bool is_arithmetic(std::string_view member);

/// Adds `step` to the list kArithmeticChanges in `now` if the run resumes from a state of another
/// arithmetic; keeps the list of `before`.
void keep_arithmetic_changes(const Software& before, std::int64_t step, Software& now);

/// Returns a warning if another arithmetic computed the run's state; empty if it is equal, or if
/// the state is older than such comparisons.
/// @param is_same_job  if not, the bits cannot be compared
[[nodiscard]] std::string arithmetic_warning(const Software& before, const Software& now,
                                             bool is_same_job);

}  // namespace gangway::coordinator
