// SPDX-License-Identifier: MIT
#include "coordinator/resume/equal_arithmetic.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/format/manifest.hpp"

namespace gangway::coordinator {
namespace {

using messages::Arithmetic;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const Arithmetic kWide{.bits = "1-aa",
                       .facts = {{"flags", "avx2 avx512f"}, {"instructions", "AVX512"}}};
const Arithmetic kNarrow{
    .bits = "1-bb",
    .facts = {{"ATEN_CPU_CAPABILITY", "avx2"}, {"flags", "avx2"}, {"instructions", "AVX2"}}};

Arithmetic with_bits(Arithmetic arithmetic, const std::string& bits) {
  arithmetic.bits = bits;
  return arithmetic;
}

constexpr auto kRefuse = MixedProcessors::kRefuse;
constexpr auto kAllow = MixedProcessors::kAllow;

TEST(EqualArithmetic, OfOneKindSaysNothing) {
  const auto verdict =
      compare_arithmetic({{Rank(1), "node-a", kWide}, {Rank(2), "node-b", kWide}}, kRefuse);
  EXPECT_EQ(verdict.common, kWide);
  EXPECT_EQ(verdict.refused_rank, Rank(0));
  EXPECT_THAT(verdict.refusal, IsEmpty());
  EXPECT_THAT(verdict.note, IsEmpty());
}

TEST(EqualArithmetic, RefusesOtherBitsByRankHostAndWhatDiffers) {
  const auto verdict =
      compare_arithmetic({{Rank(1), "node-a", kWide}, {Rank(2), "node-b", kNarrow}}, kRefuse);
  EXPECT_EQ(verdict.refused_rank, Rank(2));
  EXPECT_EQ(verdict.refusal,
            "rank 2 on host node-b computes other bits than rank 1 on host node-a: "
            "ATEN_CPU_CAPABILITY avx2, not unset; flags without avx512f; instructions AVX2, not "
            "AVX512; give it hosts of one kind with the same libraries and variables, hold unlike "
            "processors to a common instruction set (numerics.processor=avx2, say), or declare the "
            "run inexact: numerics.mixed_processors=allow (docs/numerics.md)");
}

TEST(EqualArithmetic, HoldsTheFewToWhatTheMostHave) {
  const auto verdict = compare_arithmetic(
      {{Rank(1), "node-a", kNarrow}, {Rank(2), "node-b", kWide}, {Rank(3), "node-c", kWide}},
      kRefuse);
  EXPECT_EQ(verdict.refused_rank, Rank(1));
  EXPECT_THAT(verdict.refusal, StartsWith("rank 1 on host node-a computes other bits than rank 2"));
  EXPECT_EQ(verdict.common, kWide);
}

TEST(EqualArithmetic, CountsTheOthersWhereTheyAreMore) {
  const auto verdict = compare_arithmetic({{Rank(1), "a", kWide},
                                           {Rank(2), "a", kWide},
                                           {Rank(3), "b", kNarrow},
                                           {Rank(4), "c", with_bits(kWide, "1-cc")}},
                                          kRefuse);
  EXPECT_THAT(verdict.refusal, HasSubstr(" (2 of 4 workers differ); "));
}

TEST(EqualArithmetic, HoldsALaterStartToTheOneBeforeEvenAgainstTheMost) {
  const auto few = compare_arithmetic(
      {{Rank(1), "node-a", kWide}, {Rank(2), "b", kNarrow}, {Rank(3), "c", kNarrow}}, kRefuse,
      kWide);
  EXPECT_EQ(few.refused_rank, Rank(2));
  EXPECT_EQ(few.common, kWide);
  const auto none =
      compare_arithmetic({{Rank(1), "b", kNarrow}, {Rank(2), "c", kNarrow}}, kRefuse, kWide);
  EXPECT_EQ(none.refused_rank, Rank(1));
  EXPECT_THAT(none.refusal,
              StartsWith("rank 1 on host b computes other bits than the start before: "
                         "ATEN_CPU_CAPABILITY avx2, not unset; "));
  const auto refused = [](const Arithmetic& before, MixedProcessors choice) {
    return compare_arithmetic({{Rank(1), "b", kNarrow}}, choice, before).refused_rank;
  };
  EXPECT_EQ(refused(kWide, kAllow), Rank());
  EXPECT_EQ(refused(kNarrow, kRefuse), Rank());
  EXPECT_EQ(refused(with_bits(kWide, std::string(kMixedBits)), kRefuse), Rank());
  EXPECT_EQ(refused(with_bits(kWide, "2-aa"), kRefuse), Rank()) << "another revision of the trial";
}

TEST(EqualArithmetic, SaysWhenNobodyKnowsWhy) {
  const auto verdict = compare_arithmetic(
      {{Rank(1), "a", kWide}, {Rank(2), "b", with_bits(kWide, "1-cc")}}, kRefuse);
  EXPECT_THAT(verdict.refusal, HasSubstr("no known property of them differs"));
}

TEST(EqualArithmetic, AllowsOtherBitsWhereTheJobDoesAndMarksThem) {
  const auto verdict = compare_arithmetic({{Rank(1), "a", kWide}, {Rank(2), "b", kNarrow}}, kAllow);
  EXPECT_THAT(verdict.refusal, IsEmpty());
  EXPECT_EQ(verdict.common, with_bits(kWide, std::string(kMixedBits)));
  EXPECT_THAT(verdict.note, HasSubstr("allowed by numerics.mixed_processors"));
}

TEST(EqualArithmetic, OnlyNotesOtherMeansThatHadTheSameBits) {
  const auto verdict = compare_arithmetic(
      {{Rank(1), "a", kWide}, {Rank(2), "b", with_bits(kNarrow, kWide.bits)}}, kRefuse);
  EXPECT_THAT(verdict.refusal, IsEmpty());
  EXPECT_THAT(verdict.note,
              StartsWith("rank 2 on host b computes with another environment than rank 1"));
}

TEST(ArithmeticOfACheckpoint, ComesBackFromItsManifest) {
  EXPECT_EQ(arithmetic_of(software_of(kNarrow)), kNarrow);
  EXPECT_EQ(arithmetic_of({{"gangway", "0.2.0"}}), Arithmetic{});
}

TEST(ArithmeticWarning, IsNoneForTheSameAndForOlderCheckpoints) {
  EXPECT_THAT(arithmetic_warning(software_of(kWide), software_of(kWide), true), IsEmpty());
  EXPECT_THAT(arithmetic_warning({{"libtorch", "2.10.0"}}, software_of(kWide), true), IsEmpty());
}

TEST(ArithmeticWarning, IsNoneForFactsThatAnOlderVersionDidNotKnow) {
  Arithmetic newer = kWide;
  newer.facts.insert(newer.facts.begin(), {"caches", "32 KiB, 512 KiB, 16384 KiB"});
  EXPECT_THAT(arithmetic_warning(software_of(kWide), software_of(newer), true), IsEmpty());
  EXPECT_THAT(differing_facts(newer, kWide), IsEmpty());
}

TEST(ArithmeticWarning, SaysWhatHasChanged) {
  const std::string line = arithmetic_warning(software_of(kWide), software_of(kNarrow), true);
  EXPECT_THAT(line, StartsWith("warn  this run computes other bits than "));
  EXPECT_THAT(line, HasSubstr("instructions AVX2, not AVX512"));
}

TEST(ArithmeticWarning, ComparesBitsOfOneJobAndOneRevisionAlone) {
  const auto warning = [](const std::string& bits, bool is_same_job) {
    return arithmetic_warning(software_of(kWide), software_of(with_bits(kWide, bits)), is_same_job);
  };
  EXPECT_THAT(warning("1-cc", true), HasSubstr("no known property of them differs"));
  EXPECT_THAT(warning("1-cc", false), IsEmpty());
  EXPECT_THAT(warning("2-cc", true), IsEmpty());
  EXPECT_THAT(warning(std::string(kMixedBits), true), HasSubstr("other bits"));
}

TEST(ArithmeticChanges, AreKeptFromOneCheckpointToTheNext) {
  const std::string member(checkpoint::kArithmeticChanges);
  Software first = software_of(kNarrow);
  keep_arithmetic_changes(software_of(kWide), 300, first);
  EXPECT_EQ(first.at(member), "300");
  Software second = software_of(kNarrow);
  keep_arithmetic_changes(first, 600, second);
  EXPECT_EQ(second.at(member), "300");
  Software third = software_of(kWide);
  keep_arithmetic_changes(second, 900, third);
  EXPECT_EQ(third.at(member), "300, 900");
  Software same = software_of(kWide);
  keep_arithmetic_changes(software_of(kWide), 300, same);
  EXPECT_FALSE(same.contains(member));
}

}  // namespace
}  // namespace gangway::coordinator
