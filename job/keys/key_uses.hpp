// SPDX-License-Identifier: MIT
// Marks on keys of the job file: which jobs a key has a meaning for, and what its value decides.
// Pure.
#pragma once

#include <functional>
#include <string>

#include "job/schema/key.hpp"

namespace gangway {

/// Has a meaning where images are made, not points.
[[nodiscard]] Key for_images(Key key);
/// Where the family takes labels.
[[nodiscard]] Key for_labels(Key key);
/// For those whose row names it (ModelFamily::keys).
[[nodiscard]] Key for_families_that_take_it(Key key);
/// Where not all networks are the user's.
[[nodiscard]] Key unless_own(Key key);
/// Where GPUs compute.
[[nodiscard]] Key for_gpus(Key key);
/// Why a key that the recipe's phases look at is refused; empty: they are trained.
[[nodiscard]] std::string refuse_beside_own_step(const JobSpec& job);
/// Has a meaning for the recipes for which `is_meant` holds.
[[nodiscard]] Key for_recipes(const std::function<bool(const Recipe&)>& is_meant, Key key);
/// For recipes in which networks work against one another.
[[nodiscard]] Key for_adversaries(Key key);
/// For recipes that take penalties.
[[nodiscard]] Key for_penalties(Key key);
/// Where what the discriminator learns from are samples of the generator alone.
[[nodiscard]] Key for_fakes(Key key);
/// For recipes that make examples again from a code.
[[nodiscard]] Key for_autoencoders(Key key);
/// For recipes with latent codes.
[[nodiscard]] Key for_codes(Key key);
/// For recipes that give pictures a style.
[[nodiscard]] Key for_style(Key key);
/// For data of pairs.
[[nodiscard]] Key for_pairs(Key key);
/// Where the shades of a real picture may change: those of a pair belong together.
[[nodiscard]] Key for_free_shades(Key key);
/// For pictures of three channels, of such data.
[[nodiscard]] Key for_colours(Key key);
/// Where a network makes examples of noise; the usual value is taken everywhere, because jobs were
/// written down with it.
[[nodiscard]] Key for_noise(Key key);
/// Says in words what the default is.
[[nodiscard]] Key with_default(Key key, std::string note);
/// Decides the speed, not the weights.
[[nodiscard]] Key for_speed(Key key);
/// Came after jobs had fingerprints: those that do not name it keep theirs.
[[nodiscard]] Key later(Key key);

}  // namespace gangway
