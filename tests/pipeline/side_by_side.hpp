// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include <gtest/gtest.h>

#include "pipeline/instruction.hpp"

namespace gangway::pipeline {

/// Runs the lists of all workers of a generator and a discriminator side by side. Fails at a
/// deadlock, and names the waiting workers with their instructions. Fails if a sent tensor is
/// never received.
[[nodiscard]] ::testing::AssertionResult come_to_an_end(
    const std::vector<std::vector<Instruction>>& lists);

}  // namespace gangway::pipeline
