// SPDX-License-Identifier: MIT
#include "checkpoint/tools/compare.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "tests/checkpoint/sample_checkpoint.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::checkpoint {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A float32 tensor of these values.
OwnedTensor floats(const std::string& name, const std::vector<float>& values) {
  OwnedTensor tensor{.name = name,
                     .type = ElementType::kF32,
                     .shape = {static_cast<std::int64_t>(values.size())},
                     .bytes = std::vector<std::byte>(values.size() * sizeof(float))};
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

class Compare : public ::testing::Test {
 protected:
  /// Returns the differences of two checkpoints of one step, each in its own folder.
  std::vector<TensorDifference> compare(const std::vector<OwnedTensor>& a,
                                        const std::vector<OwnedTensor>& b) {
    return compare_checkpoints(commit_in_pieces(first.path(), a, sample_manifest(1), 1),
                               commit_in_pieces(second.path(), b, sample_manifest(1), 3));
  }
  const gangway::testing::ScratchFolder first;
  const gangway::testing::ScratchFolder second;
};

TEST_F(Compare, FindsNoDifferenceBetweenLayouts) {
  EXPECT_THAT(compare_checkpoints(commit_sample(first.path(), 5, 2),
                                  commit_sample_in_pieces(second.path(), 5, 3)),
              IsEmpty());
  EXPECT_EQ(differences_text({}), "equal, bit for bit\n");
}

TEST_F(Compare, CountsElementsAndSaysHowFarApartTheyAre) {
  const auto differences =
      compare({floats("a", {1, 2, 3, 4, 5, 6}), floats("b", {1, 2, 3, 4, 5, 6})},
              {floats("a", {1, 2, 3.5, 4, 5, 4}), floats("b", {1, 2, 3, 4, 5, 6})});
  ASSERT_THAT(differences, SizeIs(1));
  EXPECT_EQ(differences[0].name, "a");
  EXPECT_EQ(differences[0].elements, 6U);
  EXPECT_EQ(differences[0].differing, 2U);
  EXPECT_EQ(differences[0].largest, 2.0);
  EXPECT_EQ(differences_text(differences),
            "a: 2 of 6 elements differ, by 2 at most\n1 tensor differs\n");
}

TEST_F(Compare, ComparesBitsNotValues) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(compare({floats("a", {nan, 1, 0})}, {floats("a", {nan, 1, 0})}), IsEmpty());
  const gangway::testing::ScratchFolder third;
  const auto signs = compare_checkpoints(
      commit_in_pieces(third.path(), {floats("a", {0, 1, 2})}, sample_manifest(2), 1),
      commit_in_pieces(first.path(), {floats("a", {-0.0F, 1, 2})}, sample_manifest(2), 1));
  ASSERT_THAT(signs, SizeIs(1));
  EXPECT_EQ(signs[0].differing, 1U);
  EXPECT_EQ(signs[0].largest, 0.0);
}

TEST_F(Compare, NamesANumberThatIsNone) {
  const auto differences = compare({floats("a", {1, 2, 3})},
                                   {floats("a", {1, std::numeric_limits<float>::quiet_NaN(), 9})});
  ASSERT_THAT(differences, SizeIs(1));
  EXPECT_TRUE(std::isnan(differences[0].largest));
}

TEST_F(Compare, NamesWhatOnlyOneHasAndOtherShapes) {
  const auto differences = compare({floats("a", {1, 2, 3}), floats("b", {1, 2, 3})},
                                   {floats("b", {1, 2, 3, 4}), floats("c", {1, 2, 3})});
  EXPECT_EQ(differences_text(differences),
            "a: only in the first\nb: F32 [3] and F32 [4]\nc: only in the second\n3 tensors "
            "differ\n");
}

TEST_F(Compare, RefusesDamage) {
  const auto path = commit_sample_in_pieces(first.path(), 5, 2);
  const std::string name = (path / worker_file_name(0, 2)).string();
  std::string bytes = read_text(name);
  bytes[4200] ^= 1;
  write_text(name, bytes);
  EXPECT_THAT(checkpoint_error_of([&] { (void)compare_checkpoints(path, path); }),
              HasSubstr("worker-0000-of-0002"));
}

}  // namespace
}  // namespace gangway::checkpoint
