// SPDX-License-Identifier: MIT
#include "worker/arithmetic/hold_processor.hpp"

#include <cstdlib>
#include <string_view>

#include <ATen/Version.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"
#include "gan/kernels/vector_functions.hpp"
#include "job/choices.hpp"

namespace gangway::worker {
namespace {

struct Words {
  const char* aten;
  const char* onednn;
  const char* mkl;
};

Words words_for(InstructionSet set) {
  switch (set) {
    case InstructionSet::kAvx512:
      return {"avx512", "AVX512_CORE", "AVX512"};
    case InstructionSet::kAvx2:
      return {"avx2", "AVX2", "AVX2"};
    default:
      return {"default", "SSE41", "SSE4_2"};
  }
}

/// Returns whether LibTorch's capability name belongs to the set.
bool is_held(InstructionSet set, std::string_view capability) {
  const bool is_wide = capability == "AVX512";
  const bool is_avx2 = capability == "AVX2";
  return set == InstructionSet::kAvx512 ? is_wide
         : set == InstructionSet::kAvx2 ? is_avx2
                                        : !is_wide && !is_avx2;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> variables_for(InstructionSet set) {
  if (set == InstructionSet::kNative) {
    return {};
  }
  const Words words = words_for(set);
  return {{"ATEN_CPU_CAPABILITY", words.aten},
          {"ONEDNN_MAX_CPU_ISA", words.onednn},
          {"MKL_ENABLE_INSTRUCTIONS", words.mkl}};
}

void require_instructions(InstructionSet set, const Processor& processor) {
  if (set == InstructionSet::kNative) {
    return;
  }
  const std::vector<std::string> lacking = lacking_flags(processor, name_of(set));
  if (!lacking.empty()) {
    const std::string best = best_level(processor);
    throw EnvironmentError(fmt::format(
        "numerics.processor: {} asks for {}, which this host's processor ({}) has not; give the "
        "job other hosts, or numerics.processor={}, which has other bits",
        name_of(set), fmt::join(lacking, " "), processor.model, best.empty() ? "native" : best));
  }
}

void hold_processor(InstructionSet set) {
  require_instructions(set, this_processor());
  for (const auto& [name, value] : variables_for(set)) {
    (void)::setenv(name.c_str(), value.c_str(), /*overwrite=*/1);
  }
  const std::string capability = at::get_cpu_capability();
  if (set != InstructionSet::kNative && !is_held(set, capability)) {
    throw EnvironmentError(fmt::format(
        "numerics.processor: {} was asked for, and LibTorch computes with {}; use native",
        name_of(set), capability));
  }
  gan::choose_vector_kernels();
}

}  // namespace gangway::worker
