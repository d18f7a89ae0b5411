// SPDX-License-Identifier: MIT
#include "launch/data/data_limit.hpp"

#include "gan/data/open_dataset.hpp"

namespace gangway::launch {

void require_data_limit(const JobSpec& spec) {
  if (spec.data.limit > 0) {
    (void)data::open_dataset(spec.data, spec.model, spec.training.seed);
  }
}

}  // namespace gangway::launch
