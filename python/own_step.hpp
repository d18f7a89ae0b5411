// SPDX-License-Identifier: MIT
// A job's own step (gan/python/python_step.hpp): an object of the user's class, whose methods call
// the modules that the job's Python networks compute with. Compute thread only.
#pragma once

#include <memory>

#include "gan/network.hpp"
#include "gan/python/python_step.hpp"
#include "job/models/network_id.hpp"
#include "job/spec.hpp"

namespace gangway::python {

/// Phases as the methods of the class are marked, and what else it has.
/// @throws ConfigError of one line
[[nodiscard]] OwnStepFacts own_step_facts(const Job& job);

/// @param networks  of PythonBlocks; borrowed
[[nodiscard]] std::unique_ptr<gan::PythonStep> make_own_step(
    const Job& job, const PerNetwork<gan::Network*>& networks);

}  // namespace gangway::python
