// SPDX-License-Identifier: MIT
// What is known of a worker's arithmetic, so that people can be told in what two workers differ.
// Whether they do is not judged by it: worker/arithmetic/trial_microbatch.hpp.
#pragma once

#include <string_view>
#include <vector>

#include "base/environment.hpp"
#include "base/processor.hpp"
#include "run/messages/messages.hpp"
#include "worker/step/compute_device.hpp"

namespace gangway::worker {

/// The device and its libraries, this processor and the instruction sets that kernels are chosen
/// by, versions of LibTorch, oneDNN and MKL, each variable of `environment` that has kernels chosen
/// otherwise, loaded_facts() and core_facts().
[[nodiscard]] std::vector<messages::ArithmeticFact> arithmetic_facts(
    const ComputeDevice& device, const Environment& environment);

/// Its model, and those of its flags that a library dispatches on. Pure.
[[nodiscard]] std::vector<messages::ArithmeticFact> processor_facts(const Processor& processor);

/// Of a text as at::show_config(): versions of libraries. Pure.
[[nodiscard]] std::vector<messages::ArithmeticFact> library_facts(std::string_view config);

/// The version of glibc, and the build ids of this process's libraries that compute.
[[nodiscard]] std::vector<messages::ArithmeticFact> loaded_facts();

/// The sizes of the caches, by which libraries divide matrices, and how the threads of LibTorch's
/// pool round and whether they flush denormals (MXCSR).
[[nodiscard]] std::vector<messages::ArithmeticFact> core_facts();

/// Those of `environment` that move kernels or have other code loaded, by their names. Pure.
[[nodiscard]] std::vector<messages::ArithmeticFact> variable_facts(const Environment& environment);

}  // namespace gangway::worker
