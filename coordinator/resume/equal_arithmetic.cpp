// SPDX-License-Identifier: MIT
#include "coordinator/resume/equal_arithmetic.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "checkpoint/format/manifest.hpp"

namespace gangway::coordinator {
namespace {

using messages::Arithmetic;
using messages::ArithmeticFact;

constexpr std::string_view kBitsMember = "arithmetic";
constexpr std::string_view kFactPrefix = "arithmetic.";
/// Name of the fact that is a list of words; only words that differ are reported.
constexpr std::string_view kFlags = "flags";

std::set<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

std::map<std::string, std::string> by_name(const Arithmetic& arithmetic) {
  std::map<std::string, std::string> facts;
  for (const ArithmeticFact& fact : arithmetic.facts) {
    facts.emplace(fact.name, fact.value);
  }
  return facts;
}

bool is_variable(std::string_view name) {
  return std::isupper(static_cast<unsigned char>(name[0])) != 0;
}

std::string differing_flags(const std::string& one, const std::string& other) {
  const std::set<std::string> here = words_of(one);
  const std::set<std::string> there = words_of(other);
  std::vector<std::string> more;
  std::vector<std::string> fewer;
  std::ranges::set_difference(here, there, std::back_inserter(more));
  std::ranges::set_difference(there, here, std::back_inserter(fewer));
  return fmt::format("{}{}{}{}{}", kFlags, more.empty() ? "" : " with ", fmt::join(more, " "),
                     fewer.empty() ? "" : " without ", fmt::join(fewer, " "));
}

std::string bits_revision(const std::string& bits) { return bits.substr(0, bits.find('-')); }

const ArithmeticOfRank& reference_of(const std::vector<ArithmeticOfRank>& ranks) {
  std::map<std::string, std::ptrdiff_t> counts;
  for (const ArithmeticOfRank& one : ranks) {
    counts.try_emplace(one.arithmetic.bits, 0).first->second++;
  }
  return *std::ranges::max_element(
      ranks, {}, [&](const ArithmeticOfRank& one) { return counts.at(one.arithmetic.bits); });
}

constexpr std::string_view kNoneKnown = "no known property of them differs";

ArithmeticVerdict unlike_before(const ArithmeticOfRank& one, const std::string& facts) {
  return {.common = one.arithmetic,
          .refused_rank = one.rank,
          .refusal = fmt::format(
              "rank {} on host {} computes other bits than the start before: {}; the same command, "
              "given again, continues with these bits and says so (docs/numerics.md)",
              one.rank, one.host, facts.empty() ? kNoneKnown : facts),
          .note = {}};
}

}  // namespace

std::string differing_facts(const Arithmetic& one, const Arithmetic& other) {
  const auto here = by_name(one);
  const auto there = by_name(other);
  std::map<std::string, std::string> all = here;  // for its keys
  all.insert(there.begin(), there.end());
  const auto value_in = [](const auto& facts, const std::string& name) {
    const auto found = facts.find(name);
    return found == facts.end() ? std::string() : found->second;
  };
  std::vector<std::string> differences;
  for (const auto& [name, value] : all) {
    const std::string mine = value_in(here, name);
    const std::string others = value_in(there, name);
    // An older Gangway recorded fewer facts; a missing variable counts as not set.
    const bool is_known = is_variable(name) || (!mine.empty() && !others.empty());
    if (mine != others && is_known) {
      differences.push_back(name == kFlags
                                ? differing_flags(mine, others)
                                : fmt::format("{} {}, not {}", name, mine.empty() ? "unset" : mine,
                                              others.empty() ? "unset" : others));
    }
  }
  return fmt::format("{}", fmt::join(differences, "; "));
}

ArithmeticVerdict compare_arithmetic(const std::vector<ArithmeticOfRank>& ranks,
                                     MixedProcessors choice, const Arithmetic& before) {
  if (ranks.empty()) {
    return {};
  }
  const bool counts_before =
      choice == MixedProcessors::kRefuse && !before.bits.empty() && before.bits != kMixedBits &&
      bits_revision(before.bits) == bits_revision(ranks.front().arithmetic.bits);
  const auto as_before = std::ranges::find_if(ranks, [&](const ArithmeticOfRank& one) {
    return counts_before && one.arithmetic.bits == before.bits;
  });
  if (counts_before && as_before == ranks.end()) {
    const ArithmeticOfRank& one = ranks.front();
    return unlike_before(one, differing_facts(one.arithmetic, before));
  }
  const ArithmeticOfRank& reference = as_before == ranks.end() ? reference_of(ranks) : *as_before;
  ArithmeticVerdict verdict{.common = reference.arithmetic};
  const auto pair = [&](const ArithmeticOfRank& one, std::string_view verb) {
    const std::string facts = differing_facts(one.arithmetic, reference.arithmetic);
    return fmt::format("rank {} on host {} {} rank {} on host {}: {}", one.rank, one.host, verb,
                       reference.rank, reference.host, facts.empty() ? kNoneKnown : facts);
  };
  const auto computes_others = [&](const ArithmeticOfRank& one) {
    return one.arithmetic.bits != reference.arithmetic.bits;
  };
  const auto differs = std::ranges::find_if(ranks, computes_others);
  if (differs == ranks.end()) {
    const auto unlike = std::ranges::find_if(ranks, [&](const ArithmeticOfRank& one) {
      return one.arithmetic.facts != reference.arithmetic.facts;
    });
    if (unlike != ranks.end()) {
      verdict.note =
          fmt::format("{}; a trial micro-batch had the same bits on both, larger ones may not",
                      pair(*unlike, "computes with another environment than"));
    }
    return verdict;
  }
  const auto num_others = std::ranges::count_if(ranks, computes_others);
  const std::string what =
      pair(*differs, "computes other bits than") +
      (num_others > 1 ? fmt::format(" ({} of {} workers differ)", num_others, ranks.size()) : "");
  if (choice == MixedProcessors::kAllow) {
    verdict.common.bits = kMixedBits;
    verdict.note = what + "; allowed by numerics.mixed_processors";
    return verdict;
  }
  verdict.refused_rank = differs->rank;
  verdict.refusal =
      what +
      "; give it hosts of one kind with the same libraries and variables, hold unlike processors "
      "to a common instruction set (numerics.processor=avx2, say), or declare the run inexact: "
      "numerics.mixed_processors=allow (docs/numerics.md)";
  return verdict;
}

Software software_of(const Arithmetic& arithmetic) {
  Software software;
  if (!arithmetic.bits.empty()) {
    software.emplace(kBitsMember, arithmetic.bits);
  }
  for (const ArithmeticFact& fact : arithmetic.facts) {
    software.emplace(std::string(kFactPrefix) + fact.name, fact.value);
  }
  return software;
}

Arithmetic arithmetic_of(const Software& software) {
  Arithmetic arithmetic;
  for (const auto& [member, value] : software) {
    if (member == kBitsMember) {
      arithmetic.bits = value;
    } else if (member.starts_with(kFactPrefix)) {
      arithmetic.facts.push_back({member.substr(kFactPrefix.size()), value});
    }
  }
  return arithmetic;
}

bool is_arithmetic(std::string_view member) {
  return member == kBitsMember || member == checkpoint::kArithmeticChanges ||
         member.starts_with(kFactPrefix);
}

void keep_arithmetic_changes(const Software& before, std::int64_t step, Software& now) {
  const auto earlier = before.find(std::string(checkpoint::kArithmeticChanges));
  std::string text = earlier == before.end() ? "" : earlier->second;
  const Arithmetic old = arithmetic_of(before);
  const Arithmetic own = arithmetic_of(now);
  if (!old.bits.empty() && (old.bits != own.bits || !differing_facts(own, old).empty())) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", step);
  }
  if (!text.empty()) {
    now.insert_or_assign(std::string(checkpoint::kArithmeticChanges), text);
  }
}

std::string arithmetic_warning(const Software& before, const Software& now, bool is_same_job) {
  const Arithmetic old = arithmetic_of(before);
  const Arithmetic own = arithmetic_of(now);
  if (old.bits.empty() || own.bits.empty()) {
    return {};
  }
  const std::string facts = differing_facts(own, old);
  const bool is_comparable = is_same_job && bits_revision(old.bits) == bits_revision(own.bits);
  const bool has_other_bits =
      old.bits == kMixedBits || own.bits == kMixedBits || (is_comparable && old.bits != own.bits);
  if (facts.empty() && (!has_other_bits || old.bits == own.bits)) {
    return {};
  }
  return fmt::format(
      "warn  this run computes {} than its state was computed with: {}; {}",
      has_other_bits ? "other bits" : "with another environment",
      facts.empty() ? kNoneKnown : facts,
      has_other_bits ? "the bits differ from here on" : "the bits may differ from here on");
}

}  // namespace gangway::coordinator
