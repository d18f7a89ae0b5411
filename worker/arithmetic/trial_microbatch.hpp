// SPDX-License-Identifier: MIT
// By which workers find out, before they train, whether they compute the same bits: one keyed
// micro-batch of the job's own networks, forward and backward, hashed. Compute thread.
#pragma once

#include <string>

#include "job/spec.hpp"
#include "worker/step/compute_device.hpp"

namespace gangway::worker {

/// Hash of what every phase of the job's first step computes of one micro-batch: losses, gradients
/// of all weights, statistics. It has networks of its own with keyed weights, and keyed numbers for
/// real examples, so it depends on the job and on the arithmetic alone: not on the
/// worker, the data, or the state that training begins with.
///
/// The micro-batch has 2 images, or the job's number where that is less: kernels that a library
/// chooses for larger ones alone are not seen. Two words joined by '-': the revision of what is
/// hashed, and 32 hexadecimal digits.
///
/// Cost: a step of 2 images, and the networks' memory until it returns.
/// @throws what a first step would: of a module or library of the user's
[[nodiscard]] std::string trial_bits(const Job& job, ComputeDevice& device);

}  // namespace gangway::worker
