// SPDX-License-Identifier: MIT
// Restricts keys of the job file to the jobs that they apply to, and marks what they affect. Pure.
#pragma once

#include <functional>
#include <string>

#include "job/schema/key.hpp"

namespace gangway {

/// Applies to jobs that make images, not points.
[[nodiscard]] Key for_images(Key key);
/// Applies to families with labels.
[[nodiscard]] Key for_labels(Key key);
/// Applies to families whose row names the key (ModelFamily::keys). `{}` in the key's description
/// becomes their names.
[[nodiscard]] Key for_families_that_take_it(Key key);
/// Applies unless all networks are the user's.
[[nodiscard]] Key unless_own(Key key);
/// Applies if GPUs compute.
[[nodiscard]] Key for_gpus(Key key);
/// Applies if a GPU computes, or a Python network on a CPU by PyTorch's kernels.
[[nodiscard]] Key for_kernels(Key key);
/// Returns why a key for the recipe's phases is refused; empty: the recipe's phases are trained.
[[nodiscard]] std::string refuse_beside_own_step(const JobSpec& job);
/// Applies to the recipes for which `is_meant` holds.
[[nodiscard]] Key for_recipes(const std::function<bool(const Recipe&)>& is_meant, Key key);
/// Applies to recipes whose networks work against one another.
[[nodiscard]] Key for_adversaries(Key key);
/// Applies to recipes that take penalties.
[[nodiscard]] Key for_penalties(Key key);
/// Applies if all generated examples for the discriminator are samples of the generator.
[[nodiscard]] Key for_fakes(Key key);
/// Applies to recipes that reconstruct examples from a code.
[[nodiscard]] Key for_autoencoders(Key key);
/// Applies to recipes with latent codes.
[[nodiscard]] Key for_codes(Key key);
/// Applies to recipes that give pictures a style.
[[nodiscard]] Key for_style(Key key);
/// Applies to recipes with a teacher.
[[nodiscard]] Key for_distillation(Key key);
/// Applies to data of pairs.
[[nodiscard]] Key for_pairs(Key key);
/// Applies if the shades of a real picture may change; those of a pair belong together.
[[nodiscard]] Key for_free_shades(Key key);
/// As for_free_shades, for pictures of three channels.
[[nodiscard]] Key for_colours(Key key);
/// Applies if a network makes examples of noise. The usual value is accepted everywhere, because
/// stored jobs have it.
[[nodiscard]] Key for_noise(Key key);
/// Describes the default in words.
[[nodiscard]] Key with_default(Key key, std::string note);
/// Marks a key that affects the speed, not the weights.
[[nodiscard]] Key for_speed(Key key);
/// Marks a key that is newer than fingerprints: jobs that do not give it keep theirs.
[[nodiscard]] Key later(Key key);

}  // namespace gangway
