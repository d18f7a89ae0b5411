// SPDX-License-Identifier: MIT
#include "worker/arithmetic/hold_processor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"

namespace gangway::worker {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

const Processor kNarrow{
    .maker = "A", .model = "Some CPU", .flags = {"sse4_1", "sse4_2", "avx", "avx2", "fma"}};

TEST(HoldProcessor, TellsAllThreeLibraries) {
  EXPECT_THAT(variables_for(InstructionSet::kNative), IsEmpty());
  EXPECT_THAT(variables_for(InstructionSet::kAvx2),
              ElementsAre(Pair("ATEN_CPU_CAPABILITY", "avx2"), Pair("ONEDNN_MAX_CPU_ISA", "AVX2"),
                          Pair("MKL_ENABLE_INSTRUCTIONS", "AVX2")));
  EXPECT_THAT(
      variables_for(InstructionSet::kSse4),
      ElementsAre(Pair("ATEN_CPU_CAPABILITY", "default"), Pair("ONEDNN_MAX_CPU_ISA", "SSE41"),
                  Pair("MKL_ENABLE_INSTRUCTIONS", "SSE4_2")));
}

TEST(HoldProcessor, RefusesOneThatLacksTheInstructions) {
  require_instructions(InstructionSet::kNative, {});
  require_instructions(InstructionSet::kAvx2, kNarrow);
  try {
    require_instructions(InstructionSet::kAvx512, kNarrow);
    FAIL() << "no error";
  } catch (const EnvironmentError& error) {
    EXPECT_EQ(error.code(), ExitCode::kEnvironment);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("numerics.processor: avx512 asks for avx512f"),
                                    HasSubstr("Some CPU"), HasSubstr("numerics.processor=avx2")));
  }
}

}  // namespace
}  // namespace gangway::worker
