// SPDX-License-Identifier: MIT
// Finds out, before the networks are made, whether a job's pictures are grey or in colour, and how
// many labels they have. Reads a sample of the pictures; main thread.
#pragma once

#include <optional>

#include "job/spec.hpp"

namespace gangway::launch {

struct SourceFacts {
  bool is_gray = true;  ///< all sampled pictures are grey, even if some are saved as colour
  int classes = 0;      ///< 0: no labels
};

/// True if only the files contain the facts: folders and ZIPs of pictures.
[[nodiscard]] bool is_looked_at(const DataSpec& data);

/// Reads up to 64 evenly spread pictures. Returns nullopt for points and for a source that cannot
/// be read; opening that source reports why.
[[nodiscard]] std::optional<SourceFacts> source_facts(const DataSpec& spec);

}  // namespace gangway::launch
