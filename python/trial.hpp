// SPDX-License-Identifier: MIT
// Finds out whether a user's network in Python can be trained exactly: whether its result depends
// on its tensors, its inputs and a seed alone, not on the process or on earlier calls. Compute
// thread.
#pragma once

#include "python/python_module.hpp"

namespace gangway::python {

/// Calls it in training as often as it takes to find what it changes in itself (gan::kMostTried);
/// then one seed, another seed on other examples, and the first again: outputs, gradients, buffers
/// and what it keeps beside tensors have to be those of the first time; where the spec is
/// penalised, second derivatives too; and in evaluation twice. module.moving() are afterwards those
/// that forward writes to. @throws ConfigError of one line
void try_out(PythonModule& module);

}  // namespace gangway::python
