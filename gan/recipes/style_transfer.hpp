// SPDX-License-Identifier: MIT
// Fast style transfer (Johnson, Alahi and Fei-Fei, 2016): a network learns to give any picture the
// style of one, as the features of a frozen network tell both style and content. Pure.
#pragma once

#include <vector>

#include "job/spec.hpp"
#include "pipeline/phases.hpp"

namespace gangway::gan {

/// One phase, in which the generator is updated.
[[nodiscard]] std::vector<pipeline::Phase> style_transfer_phases(const Job& job);

}  // namespace gangway::gan
