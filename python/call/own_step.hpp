// SPDX-License-Identifier: MIT
// Runs a job's own step (python/open/python_step.hpp): an object of the user's class. Its methods
// call the modules of the job's Python networks. Compute thread only.
#pragma once

#include <memory>

#include "gan/network.hpp"
#include "job/models/network_id.hpp"
#include "job/spec.hpp"
#include "python/open/python_step.hpp"

namespace gangway::python {

/// Returns the phases that the class's methods are marked with, and its other methods.
/// @throws ConfigError of one line
[[nodiscard]] OwnStepFacts own_step_facts(const Job& job);

/// @param networks  all consist of PythonBlocks; borrowed
[[nodiscard]] std::unique_ptr<PythonStep> make_own_step(const Job& job,
                                                        const PerNetwork<gan::Network*>& networks);

}  // namespace gangway::python
