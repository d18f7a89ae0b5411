// SPDX-License-Identifier: MIT
// Texts about model families and recipes for keys and rules, made from their tables. Pure.
#pragma once

#include <string>
#include <string_view>

#include "job/spec.hpp"

namespace gangway {

/// A Markdown list of the families: "- `dcgan`: convolutions …".
[[nodiscard]] std::string family_docs();
/// A Markdown list of the recipes: "- `adversarial`: a generator against …".
[[nodiscard]] std::string recipe_docs();
/// "generator, discriminator".
[[nodiscard]] std::string network_names(const Recipe& recipe);
/// "28 for infogan, else 32", in pixels.
[[nodiscard]] std::string default_resolutions();
/// "32 or 64 for dcgan, 28 for infogan", in pixels.
[[nodiscard]] std::string allowed_resolutions();

/// Return why a key about images, or about labels, does not apply to this job; empty if it does.
[[nodiscard]] std::string refuse_unless_images(const JobSpec& job);
[[nodiscard]] std::string refuse_unless_labels(const JobSpec& job);
/// Same, for a key of the model section that only some families take.
[[nodiscard]] std::string refuse_unless_taken(const std::string& key, const JobSpec& job);
/// "r3gan, gat".
[[nodiscard]] std::string families_that_take(std::string_view key);
/// Returns why a key about a family's networks does not apply if all networks are the user's.
[[nodiscard]] std::string refuse_if_own(const JobSpec& job);

}  // namespace gangway
