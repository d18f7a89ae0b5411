// SPDX-License-Identifier: MIT
// Reads an IDX file, plain or compressed by gzip, as images and as labels.
#include <numeric>

#include "base/errors.hpp"
#include "data/images/idx_file.hpp"
#include "tests/fuzz/memory_container.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const gangway::fuzz::TimeLimit limit;
  const std::string file = gangway::fuzz::path_of(gangway::fuzz::container_of(data, size));
  for (const int axes : {1, 3}) {
    try {
      const gangway::data::IdxArray array = gangway::data::read_idx(file, axes);
      if (std::cmp_not_equal(std::accumulate(array.sizes.begin(), array.sizes.end(),
                                             std::int64_t{1}, std::multiplies<>()),
                             array.values.size())) {
        gangway::fuzz::fail("an array of another size than it says");
      }
    } catch (const gangway::ConfigError&) {
      // A refusal in one line is the expected result.
    }
  }
  return 0;
}
