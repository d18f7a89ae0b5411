// SPDX-License-Identifier: MIT
// Lists facts about a worker's arithmetic, so that users can see in what two workers differ.
// worker/arithmetic/trial_microbatch.hpp decides whether they differ.
#pragma once

#include <string_view>
#include <vector>

#include "base/environment.hpp"
#include "base/processor.hpp"
#include "run/messages/messages.hpp"
#include "worker/step/compute_device.hpp"

namespace gangway::worker {

/// Returns the device and its libraries, the processor and its instruction sets, and versions of
/// LibTorch, oneDNN and MKL. Adds each variable of `environment` that changes the choice of
/// kernels, loaded_facts() and core_facts().
[[nodiscard]] std::vector<messages::ArithmeticFact> arithmetic_facts(
    const ComputeDevice& device, const Environment& environment);

/// Returns the processor's model and the flags that a library dispatches on. Pure.
[[nodiscard]] std::vector<messages::ArithmeticFact> processor_facts(const Processor& processor);

/// Returns library versions from a text like that of at::show_config(). Pure.
[[nodiscard]] std::vector<messages::ArithmeticFact> library_facts(std::string_view config);

/// Returns the version of glibc and the build ids of this process's libraries that compute.
[[nodiscard]] std::vector<messages::ArithmeticFact> loaded_facts();

/// Returns the cache sizes, by which libraries tile matrices, and the threads' MXCSR: how
/// LibTorch's thread pool rounds and whether it flushes denormals.
[[nodiscard]] std::vector<messages::ArithmeticFact> core_facts();

/// Returns the variables of `environment`, by name, that change kernels or load other code. Pure.
[[nodiscard]] std::vector<messages::ArithmeticFact> variable_facts(const Environment& environment);

}  // namespace gangway::worker
