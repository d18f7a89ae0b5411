// SPDX-License-Identifier: MIT
#include "worker/arithmetic/arithmetic_facts.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>

#include <ATen/Version.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/version.h>

namespace gangway::worker {
namespace {

using messages::ArithmeticFact;
using Facts = std::vector<ArithmeticFact>;

/// Flags of x86 processors on which ATen, oneDNN and MKL dispatch, as Linux names them.
constexpr std::array<std::string_view, 17> kFlags = {
    "sse4_1",      "avx",         "f16c",     "fma",      "avx2",     "avx_vnni",
    "avx512f",     "avx512bw",    "avx512cd", "avx512dq", "avx512vl", "avx512_vnni",
    "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8"};

std::string stripped(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  const auto last = text.find_last_not_of(" \t");
  return first == std::string_view::npos ? "" : std::string(text.substr(first, last - first + 1));
}

void append(Facts more, Facts& facts) { std::ranges::move(more, std::back_inserter(facts)); }

}  // namespace

Facts processor_facts(const Processor& processor) {
  std::vector<std::string_view> known;
  std::ranges::copy_if(kFlags, std::back_inserter(known), [&](std::string_view flag) {
    return std::ranges::find(processor.flags, flag) != processor.flags.end();
  });
  const std::string flags = known.empty()  // of ARM processors
                                ? fmt::format("{}", fmt::join(processor.flags, " "))
                                : fmt::format("{}", fmt::join(known, " "));
  Facts facts;
  for (const auto& [name, value] : {std::pair("processor", processor.model), {"flags", flags}}) {
    if (!value.empty()) {
      facts.push_back({name, value});
    }
  }
  return facts;
}

Facts library_facts(std::string_view config) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kNames = {
      {{"Math Kernel Library", "mkl"},
       {"MKL-DNN", "onednn"},
       {"CUDA Runtime", "cuda"},
       {"CuDNN", "cudnn"}}};
  Facts facts;
  std::istringstream lines{std::string(config)};
  for (std::string line; std::getline(lines, line);) {
    for (const auto& [word, name] : kNames) {
      const auto place = line.find(word);
      if (place != std::string::npos &&
          std::ranges::find(facts, name, &ArithmeticFact::name) == facts.end()) {
        facts.push_back({std::string(name), stripped(line.substr(place + word.size()))});
      }
    }
  }
  return facts;
}

Facts variable_facts(const Environment& environment) {
  Facts facts;
  for (const auto& [name, value] : environment) {
    if (moves_kernels(name)) {
      facts.push_back({name, value});
    }
  }
  return facts;
}

Facts arithmetic_facts(const ComputeDevice& device, const Environment& environment) {
  Facts facts{{"device", device.kind()},
              {"instructions", at::get_cpu_capability()},
              {"libtorch", TORCH_VERSION}};
  append(processor_facts(this_processor()), facts);
  append(device.facts(), facts);
  append(library_facts(at::show_config()), facts);
  append(variable_facts(environment), facts);
  std::ranges::stable_sort(facts, {}, &ArithmeticFact::name);
  return facts;
}

}  // namespace gangway::worker
