// SPDX-License-Identifier: MIT
#include "worker/arithmetic/arithmetic_facts.hpp"

#include <algorithm>
#include <string>

#include <ATen/Context.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gangway::worker {
namespace {

using messages::ArithmeticFact;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ProcessorFacts, AreItsModelAndTheFlagsThatLibrariesDispatchOn) {
  EXPECT_THAT(
      processor_facts({.maker = "A", .model = "Some CPU", .flags = {"fpu", "avx512f", "avx2"}}),
      ElementsAre(ArithmeticFact{"processor", "Some CPU"},
                  ArithmeticFact{"flags", "avx2 avx512f"}));
  EXPECT_THAT(processor_facts({}), IsEmpty());
}

TEST(LibraryFacts, AreVersions) {
  EXPECT_THAT(library_facts("PyTorch built with:\n  - GCC 13.3\n"
                            "  - Intel(R) oneAPI Math Kernel Library Version 2024.2\n"
                            "  - Intel(R) MKL-DNN v3.10.2 (Git Hash f1d)\n"
                            "  - CUDA Runtime 13.0\n  - CuDNN 91.9\n"
                            "  - Build settings: CUDNN_VERSION=9.19.0, USE_MKLDNN=ON\n"),
              ElementsAre(ArithmeticFact{"mkl", "Version 2024.2"},
                          ArithmeticFact{"onednn", "v3.10.2 (Git Hash f1d)"},
                          ArithmeticFact{"cuda", "13.0"}, ArithmeticFact{"cudnn", "91.9"}));
}

TEST(VariableFacts, AreThoseThatMoveKernels) {
  EXPECT_THAT(
      variable_facts({{"ATEN_CPU_CAPABILITY", "avx2"},
                      {"HOME", "/root"},
                      {"LD_PRELOAD", "libfast.so"},
                      {"MKL_CBWR", "COMPATIBLE"},
                      {"NVIDIA_TF32_OVERRIDE", "0"},
                      {"OMP_NUM_THREADS", "4"},
                      {"OMP_THREAD_LIMIT", "1"},
                      {"ONEDNN_MAX_CPU_ISA", "SSE41"}}),
      ElementsAre(
          ArithmeticFact{"ATEN_CPU_CAPABILITY", "avx2"}, ArithmeticFact{"LD_PRELOAD", "libfast.so"},
          ArithmeticFact{"MKL_CBWR", "COMPATIBLE"}, ArithmeticFact{"NVIDIA_TF32_OVERRIDE", "0"},
          ArithmeticFact{"OMP_THREAD_LIMIT", "1"}, ArithmeticFact{"ONEDNN_MAX_CPU_ISA", "SSE41"}));
}

TEST(LoadedFacts, AreBuildsOfTheLibrariesThatCompute) {
  const auto facts = loaded_facts();
  for (const std::string name : {"glibc", "libm build", "libtorch_cpu build"}) {
    const auto found = std::ranges::find(facts, name, &ArithmeticFact::name);
    ASSERT_NE(found, facts.end()) << name;
    EXPECT_FALSE(found->value.empty()) << name;
  }
}

TEST(CoreFacts, TellWhetherThreadsFlushDenormals) {
  EXPECT_THAT(core_facts(), ::testing::Contains(ArithmeticFact{"mxcsr", "1f80"}));
  at::globalContext().setFlushDenormal(true);
  const auto flushing = core_facts();
  at::globalContext().setFlushDenormal(false);
  EXPECT_THAT(flushing, ::testing::Contains(::testing::Field(&ArithmeticFact::value,
                                                             ::testing::HasSubstr("9fc0"))));
}

}  // namespace
}  // namespace gangway::worker
