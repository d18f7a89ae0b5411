// SPDX-License-Identifier: MIT
// Numbers of successive blocks, for the families that keep some of a network's in fp32.
#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

namespace gangway {

/// begin, begin + 1, … below `end`.
[[nodiscard]] inline std::vector<std::size_t> numbers_between(std::size_t begin, std::size_t end) {
  std::vector<std::size_t> numbers(end - begin);
  std::iota(numbers.begin(), numbers.end(), begin);
  return numbers;
}

}  // namespace gangway
