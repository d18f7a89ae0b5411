// SPDX-License-Identifier: MIT
// Inputs and outputs of a user's network in each role. A recipe whose networks may be the user's
// has its roles here. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "job/models/architecture.hpp"
#include "job/models/model_spec.hpp"

namespace gangway {

/// Whether a network in `role` may be the user's.
[[nodiscard]] bool may_be_own(std::string_view role);

/// Returns the inputs and output of a role. Generator: "noise" [N, ModelSpec::inputs()] (and
/// "labels") → [N, example…]. Discriminator: "image" [N, example…] (and "labels") → logits [N, 1].
/// Encoder: "image" → [N, 2 latent], means, then log variances. Translator: "image" → an image of
/// its size. Features: "image" → ModelSpec::levels maps. The caller fills in the file.
/// @param example  shape of one example: example_shape(model)
/// @throws InvariantError unless may_be_own(role)
[[nodiscard]] PythonSpec python_network(std::string_view role, const ModelSpec& model,
                                        const std::vector<std::int64_t>& example);

/// Returns "forward(noise [N, 100] float32, labels [N] int64) -> [N, 1, 32, 32] float32".
[[nodiscard]] std::string signature_text(const PythonSpec& spec);

}  // namespace gangway
