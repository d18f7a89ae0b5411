// SPDX-License-Identifier: MIT
#include "base/processor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gangway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kTwo =
    "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: Some CPU\n"
    "flags\t\t: fpu sse4_1 sse4_2 avx avx2 fma\n\nprocessor\t: 1\nmodel name\t: Another\n";

TEST(Processor, IsTheFirstOfThoseThatLinuxNames) {
  const Processor found = parse_processor(kTwo);
  EXPECT_EQ(found.maker, "AuthenticAMD");
  EXPECT_EQ(found.model, "Some CPU");
  EXPECT_THAT(found.flags, ElementsAre("fpu", "sse4_1", "sse4_2", "avx", "avx2", "fma"));
  EXPECT_THAT(parse_processor("Features\t: fp asimd\n").flags, ElementsAre("fp", "asimd"));
  EXPECT_THAT(parse_processor("").flags, IsEmpty());
}

TEST(Processor, HasTheHighestLevelOfWhichItLacksNothing) {
  Processor processor = parse_processor(kTwo);
  EXPECT_EQ(best_level(processor), "avx2");
  EXPECT_THAT(lacking_flags(processor, "avx2"), IsEmpty());
  EXPECT_THAT(lacking_flags(processor, "avx512"),
              ElementsAre("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"));
  processor.flags = {"fp", "asimd"};
  EXPECT_EQ(best_level(processor), "");
  EXPECT_THAT(lacking_flags(processor, "sse4"), ElementsAre("sse4_1", "sse4_2"));
}

}  // namespace
}  // namespace gangway
