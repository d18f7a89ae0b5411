// SPDX-License-Identifier: MIT
#include "job/blocks/block_tensors.hpp"

#include <set>

namespace gangway {

std::vector<std::vector<std::string>> live_after(const std::vector<BlockPorts>& blocks,
                                                 const std::vector<std::string>& results) {
  std::vector<std::vector<std::string>> live(blocks.size());
  std::set<std::string> wanted{results.begin(), results.end()};
  for (std::size_t i = blocks.size(); i-- > 0;) {
    live[i] = {wanted.begin(), wanted.end()};
    for (const std::string& output : blocks[i].outputs) {
      wanted.erase(output);
    }
    wanted.insert(blocks[i].inputs.begin(), blocks[i].inputs.end());
  }
  return live;
}

std::vector<std::vector<std::string>> live_after(const std::vector<BlockPorts>& blocks,
                                                 const std::string& result) {
  return live_after(blocks, std::vector<std::string>{result});
}

}  // namespace gangway
