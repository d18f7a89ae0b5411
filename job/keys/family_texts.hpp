// SPDX-License-Identifier: MIT
// What keys and rules say about the families of models, put together from their table. Pure.
#pragma once

#include <string>

#include "job/spec.hpp"

namespace gangway {

/// "dcgan, convolutions …; mlp, dense layers …".
[[nodiscard]] std::string family_docs();
/// "28 for infogan, else 32", in pixels.
[[nodiscard]] std::string default_resolutions();
/// "32 or 64 for dcgan, 28 for infogan", in pixels.
[[nodiscard]] std::string allowed_resolutions();

/// Why a key about images, or about labels, has no place in this job; empty if it has.
[[nodiscard]] std::string refuse_unless_images(const JobSpec& job);
[[nodiscard]] std::string refuse_unless_labels(const JobSpec& job);

}  // namespace gangway
