// SPDX-License-Identifier: MIT
// A block of a kind that a user's library defines, as a value (docs/python.md). Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "job/blocks/block_tensors.hpp"

namespace gangway {

/// The library's LibTorch part computes the block, by the name of its kind
/// (gan/library/library.hpp). This value has everything that is known without LibTorch.
struct LibrarySpec {
  std::string kind;  ///< as the library lists it
  BlockPorts ports = {{"features"}, {"features"}};
  std::vector<ParameterSpec> parameters = {};
  std::vector<StatisticSpec> statistics = {};
  std::map<std::string, double> numbers = {};  ///< other constants of the block: sizes, slopes
  std::string library = {};  ///< file that defines the kind; filled in where the model is known
};
[[nodiscard]] BlockTensors tensors_of(const LibrarySpec& spec);

}  // namespace gangway
