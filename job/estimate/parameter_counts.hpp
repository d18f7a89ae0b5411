// SPDX-License-Identifier: MIT
// How many numbers the networks of a job have, from the formulae of their families; the networks
// themselves are in gan/. Pure.
#pragma once

#include <cstdint>

#include "job/spec.hpp"

namespace gangway {

struct ParameterCounts {
  std::int64_t generator = 0;
  std::int64_t discriminator = 0;
};

/// @pre `model` comes from load_job (normalization resolved).
[[nodiscard]] ParameterCounts count_parameters(const ModelSpec& model);

}  // namespace gangway
