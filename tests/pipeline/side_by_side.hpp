// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include <gtest/gtest.h>

#include "pipeline/instruction.hpp"

namespace gangway::pipeline {

/// Runs the lists of all workers of a generator and a discriminator side by side. Fails, and says
/// who waits where, if some wait for each other for ever, or if something is sent that nobody
/// takes.
[[nodiscard]] ::testing::AssertionResult come_to_an_end(
    const std::vector<std::vector<Instruction>>& lists);

}  // namespace gangway::pipeline
