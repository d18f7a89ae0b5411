// SPDX-License-Identifier: MIT
#include "launch/data/style_picture.hpp"

#include "data/images/style_picture.hpp"

namespace gangway::launch {

void require_style_picture(const JobSpec& spec) {
  if (!spec.training.style.picture.file.empty()) {
    (void)data::read_style_picture(spec);
  }
}

}  // namespace gangway::launch
