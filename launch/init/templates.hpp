// SPDX-License-Identifier: MIT
// The texts that `gangway init` fills, from launch/init/templates/, and how they are filled. Pure.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace gangway::launch {

[[nodiscard]] std::string_view slurm_template();
[[nodiscard]] std::string_view kubernetes_template();
[[nodiscard]] std::string_view container_template();
[[nodiscard]] std::string_view job_template();

/// A job file of examples/published/.
struct PublishedRecipe {
  std::string_view name;  ///< "r3gan-ffhq64"
  std::string_view text;
};
/// Ascending by name.
[[nodiscard]] std::span<const PublishedRecipe> published_recipes();

/// Puts each value in the place of @NAME@. A line whose value is empty goes; a value of several
/// lines that stands alone on its line keeps that line's indentation.
/// @throws InvariantError where the text names a value that is not there, or the other way round.
[[nodiscard]] std::string fill_template(std::string_view text,
                                        const std::map<std::string, std::string>& values);

}  // namespace gangway::launch
