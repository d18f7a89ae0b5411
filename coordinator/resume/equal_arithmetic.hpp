// SPDX-License-Identifier: MIT
// Whether what computes is equal: of the workers of one start, and of a run now and when its
// checkpoint was saved. The bits of a trial decide (worker/arithmetic/trial_microbatch.hpp); what
// is known of processors and libraries says in words why. Pure.
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
  int rank = 0;
  std::string host;
  messages::Arithmetic arithmetic;
};

struct ArithmeticVerdict {
  /// What the run computes with; where workers that differ are allowed its bits are kMixedBits.
  messages::Arithmetic common;
  int refused_rank = 0;  ///< 0: none
  std::string refusal;   ///< one line: who differs from whom, in what, and what to do
  std::string note;      ///< one line; empty: all are alike
};

inline constexpr std::string_view kMixedBits = "mixed";

/// The bits that most ranks have are the run's; of as many the lowest rank's.
/// @param before  of the start before, whose bits are the run's wherever they can be compared; no
/// bits: there was none
[[nodiscard]] ArithmeticVerdict compare_arithmetic(const std::vector<ArithmeticOfRank>& ranks,
                                                   MixedProcessors choice,
                                                   const messages::Arithmetic& before = {});

/// "instructions AVX2, not AVX512; MKL_CBWR unset, not AVX2; flags without avx512f": in what `one`
/// differs from `other`; empty where no fact does that is known of both.
[[nodiscard]] std::string differing_facts(const messages::Arithmetic& one,
                                          const messages::Arithmetic& other);

/// Versions and names by which a checkpoint says what its state was computed with.
using Software = std::map<std::string, std::string>;

/// `arithmetic` as members of a manifest's `software`.
[[nodiscard]] Software software_of(const messages::Arithmetic& arithmetic);
/// The other way; nothing of it in an older manifest.
[[nodiscard]] messages::Arithmetic arithmetic_of(const Software& software);
/// Whether software_of() has made that member.
[[nodiscard]] bool is_arithmetic(std::string_view member);

/// Where a run goes on from a state of another arithmetic, at `step`, that is kept in the manifests
/// from then on, and so is what `before` has of it: kArithmeticChanges.
void keep_arithmetic_changes(const Software& before, std::int64_t step, Software& now);

/// A line where the run's state was computed with another arithmetic. Empty where the arithmetic is
/// equal, or where the state is older than such comparisons.
/// @param is_same_job  else its bits say nothing
[[nodiscard]] std::string arithmetic_warning(const Software& before, const Software& now,
                                             bool is_same_job);

}  // namespace gangway::coordinator
