// SPDX-License-Identifier: MIT
// The recipe of a variational autoencoder (Kingma and Welling, 2014): an encoder says where an
// example may lie in the latent space, a decoder makes it again from there. Pure.
#pragma once

#include <vector>

#include "job/spec.hpp"
#include "pipeline/phases.hpp"

namespace gangway::gan {

/// One phase, which trains both.
[[nodiscard]] std::vector<pipeline::Phase> autoencoder_phases(const Job& job);

}  // namespace gangway::gan
