// SPDX-License-Identifier: MIT
// What keys and rules say about families of models and recipes, put together from their tables.
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "job/spec.hpp"

namespace gangway {

/// "dcgan, convolutions …; mlp, dense layers …".
[[nodiscard]] std::string family_docs();
/// "adversarial, a generator against …".
[[nodiscard]] std::string recipe_docs();
/// "generator, discriminator".
[[nodiscard]] std::string network_names(const Recipe& recipe);
/// "28 for infogan, else 32", in pixels.
[[nodiscard]] std::string default_resolutions();
/// "32 or 64 for dcgan, 28 for infogan", in pixels.
[[nodiscard]] std::string allowed_resolutions();

/// Why a key about images, or about labels, has no place in this job; empty if it has.
[[nodiscard]] std::string refuse_unless_images(const JobSpec& job);
[[nodiscard]] std::string refuse_unless_labels(const JobSpec& job);
/// The same of a key of the model section that only some families take.
[[nodiscard]] std::string refuse_unless_taken(const std::string& key, const JobSpec& job);
/// "r3gan, gat".
[[nodiscard]] std::string families_that_take(std::string_view key);
/// Why a key about a family's networks has no place where all networks are the user's.
[[nodiscard]] std::string refuse_if_own(const JobSpec& job);

}  // namespace gangway
