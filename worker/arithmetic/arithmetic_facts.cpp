// SPDX-License-Identifier: MIT
#include "worker/arithmetic/arithmetic_facts.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <torch/version.h>
#include <unistd.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include "python/read/python_home.hpp"

namespace gangway::worker {
namespace {

using messages::ArithmeticFact;
using Facts = std::vector<ArithmeticFact>;

/// Flags of x86 processors on which ATen, oneDNN and MKL dispatch, by their Linux names.
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
  const std::string flags = known.empty()  // ARM processors have other fields
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
    if (moves_kernels(name) || name == "LD_PRELOAD" || name == "GLIBC_TUNABLES") {
      facts.push_back({name, value});
    }
  }
  return facts;
}

Facts loaded_facts() {
  // Libraries that compute; their version alone does not identify their build.
  constexpr std::array<std::string_view, 6> kNames = {"libtorch_cpu", "libtorch_cuda", "libc10",
                                                      "libgomp",      "libopenblas",   "libm"};
  std::vector<std::string> paths;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t /*size*/, void* out) {
        static_cast<std::vector<std::string>*>(out)->emplace_back(info->dlpi_name);
        return 0;
      },
      &paths);
  Facts facts{{"glibc", ::gnu_get_libc_version()}};
  for (const std::string& path : paths) {
    const std::string file = path.substr(path.rfind('/') + 1);
    const auto* const name = std::ranges::find(kNames, file.substr(0, file.find_first_of(".-")));
    if (name != kNames.end()) {
      facts.push_back({fmt::format("{} build", *name), elf_build_id(path)});
    }
  }
  return facts;
}

Facts core_facts() {
  std::vector<std::string> caches;
  for (const int level : {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE}) {
    caches.push_back(fmt::format("{} KiB", std::max(0L, ::sysconf(level)) / 1024));
  }
  Facts facts{{"caches", fmt::format("{}", fmt::join(caches, ", "))}};
#ifdef __SSE__
  std::vector<unsigned> modes(static_cast<std::size_t>(at::get_num_threads()));
  at::parallel_for(0, std::ssize(modes), 1, [&](std::int64_t begin, std::int64_t end) {
    constexpr unsigned kWhatHasHappened = 0x3F;
    std::fill(modes.begin() + begin, modes.begin() + end, _mm_getcsr() & ~kWhatHasHappened);
  });
  facts.push_back(
      {"mxcsr", fmt::format("{:04x}", fmt::join(std::set(modes.begin(), modes.end()), ", "))});
#endif
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
  append(loaded_facts(), facts);
  append(core_facts(), facts);
  std::ranges::stable_sort(facts, {}, &ArithmeticFact::name);
  return facts;
}

}  // namespace gangway::worker
