// SPDX-License-Identifier: MIT
// `gangway replay`: trains stretches of a run again, each by a `gangway run` of its own in a folder
// that goes with this process, and sets their digests beside the recorded ones. The run itself is
// only read. Main thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launch/process/environment.hpp"

namespace gangway::launch {

struct ReplayOptions {
  std::string run;
  std::vector<std::string> overrides;  ///< of keys that change no bit
  std::filesystem::path outdir = "runs";
  std::optional<std::int64_t> from;
  std::optional<std::int64_t> to;
  std::size_t audit = 0;  ///< stretches that are drawn; 0: all
  std::uint64_t seed = 0;
  int workers = 0;  ///< 0: in the layout that the run had
  std::filesystem::path hostfile;
};

/// @return 0: each is the same; kInternal: one is not, and the line says which. @throws Error
[[nodiscard]] int replay(const ReplayOptions& options, const Environment& environment);

}  // namespace gangway::launch
