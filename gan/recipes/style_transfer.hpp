// SPDX-License-Identifier: MIT
// Fast style transfer (Johnson, Alahi and Fei-Fei, 2016): a network learns to give any picture one
// style. Features of a frozen network measure style and content. Pure.
#pragma once

#include <vector>

#include "job/spec.hpp"
#include "pipeline/phases.hpp"

namespace gangway::gan {

/// Returns one phase, which updates the generator.
[[nodiscard]] std::vector<pipeline::Phase> style_transfer_phases(const Job& job);

}  // namespace gangway::gan
