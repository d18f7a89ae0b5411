// SPDX-License-Identifier: MIT
// Tests whether a user's Python network can be trained exactly. Its results may depend only on its
// tensors, inputs and seed, not on the process or earlier calls. Compute thread.
#pragma once

#include "python/call/python_module.hpp"

namespace gangway::python {

/// Calls the module in training, at most 8 times, to find the tensors that forward
/// writes to; module.moving() then holds only these. Then calls it with one seed, with another seed
/// and other examples, and with the first again. Outputs, gradients, buffers and other state must
/// repeat; second derivatives must exist if the spec is penalised. Also compares two evaluations.
/// @throws ConfigError in one line
void try_out(PythonModule& module);

}  // namespace gangway::python
