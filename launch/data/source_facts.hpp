// SPDX-License-Identifier: MIT
// What a job's pictures are, as far as it has to be known before the networks are made: grey or in
// colour, and how many labels. Looks at a few of them only; main thread.
#pragma once

#include <optional>

#include "job/spec.hpp"

namespace gangway::launch {

struct SourceFacts {
  bool is_gray = true;  ///< all that were looked at; some that were saved in colour too
  int classes = 0;      ///< 0: no labels
};

/// Whether only a look at its files tells: folders and ZIPs of pictures.
[[nodiscard]] bool is_looked_at(const DataSpec& data);

/// Of up to 64 pictures, evenly spread. Nothing: points, or a source that cannot be read; opening
/// it says why.
[[nodiscard]] std::optional<SourceFacts> source_facts(const DataSpec& spec);

}  // namespace gangway::launch
