// SPDX-License-Identifier: MIT
// Lets workers check before training that they compute the same bits. Hashes the forward and
// backward of one keyed micro-batch of the job's networks. Compute thread.
#pragma once

#include <string>

#include "job/spec.hpp"
#include "worker/step/compute_device.hpp"

namespace gangway::worker {

/// Returns a hash of one micro-batch in every phase of the job's first step: losses, gradients of
/// all weights, statistics. Uses its own networks with keyed weights, and keyed numbers as real
/// examples. The hash depends on the job and the arithmetic alone: not on the worker, the data, or
/// the state that training begins with.
///
/// The micro-batch has at most 2 images, so kernels that a library chooses only for larger ones are
/// not checked. Format: revision of the hashed content, '-', 32 hexadecimal digits.
///
/// Cost: a step of 2 images, and the networks' memory until it returns.
/// @throws as a first step does: errors of a module or library of the user's
[[nodiscard]] std::string trial_bits(const Job& job, ComputeDevice& device);

}  // namespace gangway::worker
