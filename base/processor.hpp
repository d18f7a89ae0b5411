// SPDX-License-Identifier: MIT
// Reads maker, model and flags of this host's processor from Linux. Assumes that all processors of
// the host equal the first. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gangway {

struct Processor {
  std::string maker;  ///< "AuthenticAMD"; empty if Linux does not report it
  std::string model;
  std::vector<std::string> flags;  ///< "avx2", as /proc/cpuinfo has them
};

/// Parses the text of /proc/cpuinfo. Pure.
[[nodiscard]] Processor parse_processor(std::string_view cpuinfo);
[[nodiscard]] Processor this_processor();

/// Returns the flags that kernels of `level` need and the processor lacks.
/// @param level  "sse4", "avx2" or "avx512": a value of numerics.processor
[[nodiscard]] std::vector<std::string> lacking_flags(const Processor& processor,
                                                     std::string_view level);
/// Returns the highest level whose flags the processor has; empty: none.
[[nodiscard]] std::string best_level(const Processor& processor);

}  // namespace gangway
