// SPDX-License-Identifier: MIT
#include "launch/data/colour_note.hpp"

#include <optional>

#include <fmt/format.h>

#include "job/families/families.hpp"
#include "launch/data/source_facts.hpp"

namespace gangway::launch {

std::string colour_note(const JobSpec& spec) {
  const std::optional<SourceFacts> facts = source_facts(spec.data);
  if (!facts || !spec.model.family->makes_images() ||
      facts->is_gray == (spec.model.channels == 1)) {
    return {};
  }
  return facts->is_gray
             ? fmt::format(
                   "data.source {} has grey pictures, and model.channels is 3: they are trained as "
                   "three equal channels; model.channels=1 costs less",
                   spec.data.source)
             : fmt::format(
                   "data.source {} has colour pictures, and model.channels is 1: they are trained "
                   "grey; model.channels=3 keeps their colours",
                   spec.data.source);
}

}  // namespace gangway::launch
