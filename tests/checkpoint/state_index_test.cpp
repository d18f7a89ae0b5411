// SPDX-License-Identifier: MIT
#include "checkpoint/format/state_index.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "checkpoint/format/manifest.hpp"
#include "tests/checkpoint/sample_checkpoint.hpp"

namespace gangway::checkpoint {
namespace {

TEST(StateIndex, ListsWhatEachFileHoldsByPositionWithoutEmptyPieces) {
  const ScratchFolder folder;
  const auto path = commit_sample(folder.path(), 5);
  const StateIndex index = index_state(path, read_manifest(path));
  EXPECT_EQ(index.tensors.size(), 8U);
  std::size_t listed = 0;
  for (const std::vector<FilePiece>& file : index.files) {
    EXPECT_TRUE(std::ranges::is_sorted(file, {}, &FilePiece::position));
    EXPECT_TRUE(
        std::ranges::none_of(file, [](const FilePiece& piece) { return piece.bytes == 0; }));
    listed += file.size();
  }
  const auto has_values = [](const StoredTensor& tensor) {
    return std::ranges::any_of(tensor.pieces,
                               [](const TensorPiece& piece) { return piece.end > piece.begin; });
  };
  EXPECT_EQ(std::ranges::count_if(index.tensors, has_values), 7);
  EXPECT_GE(listed, 7U);
}

}  // namespace
}  // namespace gangway::checkpoint
