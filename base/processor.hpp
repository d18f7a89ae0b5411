// SPDX-License-Identifier: MIT
// What Linux says of the processors of a host, all of which are taken to be like the first. Any
// thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gangway {

struct Processor {
  std::string maker;  ///< "AuthenticAMD"; empty where that is not said
  std::string model;
  std::vector<std::string> flags;  ///< "avx2", as /proc/cpuinfo has them
};

/// Of a text as /proc/cpuinfo. Pure.
[[nodiscard]] Processor parse_processor(std::string_view cpuinfo);
[[nodiscard]] Processor this_processor();

/// Which flags it lacks of those that kernels for `level` need: "sse4", "avx2" or "avx512", the
/// words of numerics.processor.
[[nodiscard]] std::vector<std::string> lacking_flags(const Processor& processor,
                                                     std::string_view level);
/// The highest of these levels that it has all flags of; empty: none.
[[nodiscard]] std::string best_level(const Processor& processor);

}  // namespace gangway
