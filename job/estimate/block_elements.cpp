// SPDX-License-Identifier: MIT
#include "job/estimate/block_elements.hpp"

#include <algorithm>
#include <variant>

namespace gangway {

std::int64_t elements_made_again(const Architecture& network) {
  std::int64_t tokens = 0;
  std::int64_t all = 0;
  std::int64_t largest = 0;
  for (const BlockSpec& block : network.blocks) {
    if (const auto* grid = std::get_if<TokenGridSpec>(&block)) {
      tokens = grid->side * grid->side;
    } else if (const auto* patches = std::get_if<PatchEmbeddingSpec>(&block)) {
      tokens = 1 + patches->side * patches->side;
    } else if (const auto* layer = std::get_if<TransformerSpec>(&block)) {
      // As in gat_feature_elements, without the tokens that flow to the next block.
      const std::int64_t inside =
          tokens * (5 * layer->width + 3 * layer->hidden + layer->heads * tokens);
      all += inside;
      largest = std::max(largest, inside);
    }
  }
  return all - largest;
}

}  // namespace gangway
