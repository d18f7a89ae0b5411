// SPDX-License-Identifier: MIT
// A micro-batch of examples of the user's Python (docs/python.md): named tensors of any type and
// rank. Value types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gangway::data {

/// An example to read, with the seed of its random numbers.
struct SeededExample {
  std::int64_t index = 0;
  std::uint64_t seed = 0;
};

struct NamedTensor {
  std::string name;                 ///< "audio"
  std::string type;                 ///< of elements, named as in PyTorch and NumPy: "float32"
  std::vector<std::int64_t> shape;  ///< of the whole micro-batch; first its size
  std::size_t at = 0;               ///< offset in NamedBatch::bytes
  std::size_t bytes = 0;
};

struct NamedBatch {
  std::vector<NamedTensor> tensors;
  std::vector<std::byte> bytes;
};

}  // namespace gangway::data
