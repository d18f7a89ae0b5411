// SPDX-License-Identifier: MIT
#include "pipeline/staged/instruction.hpp"

#include <array>
#include <cstddef>

namespace gangway::pipeline {

std::string_view name_of(StageOperation operation) {
  static constexpr std::array<std::string_view, kNumStageOperations> kNames = {
      "open-leaf",       "forward",     "recompute",    "backward",    "input-gradient",
      "weight-gradient", "first-sweep", "second-sweep", "third-sweep", "fourth-sweep",
      "close-leaf",      "arm",         "reduce",       "await",       "send",
      "receive",         "free",        "flush"};
  return kNames.at(static_cast<std::size_t>(operation));
}

}  // namespace gangway::pipeline
