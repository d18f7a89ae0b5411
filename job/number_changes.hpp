// SPDX-License-Identifier: MIT
// Lists what each version of Gangway computes differently from earlier ones, for runs that an
// earlier version began: docs/numerics.md, Changes of numbers. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "job/spec.hpp"

namespace gangway {

/// Name in the software of a checkpoint's manifest; a checkpoint without it has revision 1.
inline constexpr std::string_view kNumbersRevisionName = "numbers";
inline constexpr int kNumbersRevision = 6;

/// Lists the changes for `job` since `software` saved a checkpoint, oldest first: half a sentence
/// each.
[[nodiscard]] std::vector<std::string_view> number_changes_since(
    const std::map<std::string, std::string>& software, const JobSpec& job);

}  // namespace gangway
