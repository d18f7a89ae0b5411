// SPDX-License-Identifier: MIT
#include "base/environment.hpp"

#include <algorithm>
#include <array>
#include <string_view>

// The system's. NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
extern char** environ;

namespace gangway {
namespace {

/// Names, or prefixes of names, of variables of LibTorch, oneDNN, MKL, OpenBLAS, OpenMP and CUDA
/// that choose kernels.
constexpr std::array<std::string_view, 13> kKernelVariables = {"ATEN_CPU_CAPABILITY",
                                                               "ONEDNN_",
                                                               "DNNL_",
                                                               "MKL_",
                                                               "MKLDNN_",
                                                               "OPENBLAS_",
                                                               "OMP_",
                                                               "KMP_",
                                                               "GOMP_",
                                                               "NVIDIA_TF32_OVERRIDE",
                                                               "CUBLAS_",
                                                               "CUDNN_",
                                                               "TORCH_"};

}  // namespace

bool moves_kernels(std::string_view name) {
  return name != "OMP_NUM_THREADS" &&  // set by numerics.threads
         std::ranges::any_of(kKernelVariables,
                             [&](std::string_view begin) { return name.starts_with(begin); });
}

Environment read_environment() {
  Environment variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (const auto equals = text.find('='); equals != std::string_view::npos) {
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return variables;
}

Environment gangway_variables(Environment environment) {
  std::erase_if(environment,
                [](const auto& variable) { return !variable.first.starts_with("GANGWAY_"); });
  return environment;
}

}  // namespace gangway
