// SPDX-License-Identifier: MIT
// A micro-batch of examples that are the user's Python (docs/python.md): tensors of any type and
// rank, by their names. Values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gangway::data {

/// An example that is to be read, and what its reader's random numbers begin with.
struct SeededExample {
  std::int64_t index = 0;
  std::uint64_t seed = 0;
};

struct NamedTensor {
  std::string name;                 ///< "audio"
  std::string type;                 ///< of an element, as PyTorch and NumPy call it: "float32"
  std::vector<std::int64_t> shape;  ///< that of the whole micro-batch; the first is its size
  std::size_t at = 0;               ///< its first byte in NamedBatch::bytes
  std::size_t bytes = 0;
};

struct NamedBatch {
  std::vector<NamedTensor> tensors;
  std::vector<std::byte> bytes;
};

}  // namespace gangway::data
