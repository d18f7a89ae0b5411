// SPDX-License-Identifier: MIT
// A block of a kind that a user's library defines, as a value (docs/python.md). Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "job/blocks/block_tensors.hpp"

namespace gangway {

/// What it computes, the library's part with LibTorch says under the name of the kind
/// (gan/library/library.hpp); all that is to be known without LibTorch stands here.
struct LibrarySpec {
  std::string kind;  ///< as the library lists it
  BlockPorts ports = {{"features"}, {"features"}};
  std::vector<ParameterSpec> parameters = {};
  std::vector<StatisticSpec> statistics = {};
  std::map<std::string, double> numbers = {};  ///< what else the block wants to know: sizes, slopes
  std::string library = {};  ///< file that has the kind; filled in where the model is known
};
[[nodiscard]] BlockPorts ports_of(const LibrarySpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const LibrarySpec& spec);
[[nodiscard]] std::vector<StatisticSpec> statistics_of(const LibrarySpec& spec);

}  // namespace gangway
