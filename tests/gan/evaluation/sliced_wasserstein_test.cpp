// SPDX-License-Identifier: MIT
#include "gan/evaluation/sliced_wasserstein.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gan/torch.hpp"

namespace gangway::gan {
namespace {

using ::testing::SizeIs;

constexpr std::int64_t kCount = 96;
constexpr std::int64_t kPatches = 24;

ImageSource source_of(const at::Tensor& images) {
  return [images](std::int64_t first, std::int64_t count) {
    return images.slice(0, first, first + count);
  };
}

double distance(const at::Tensor& a, const at::Tensor& b) {
  return sliced_distance(pyramid_patches(source_of(a), kCount, kPatches, 1),
                         pyramid_patches(source_of(b), kCount, kPatches, 1), 2)
      .mean;
}

/// Soft blobs on a background, each channel with its own shade.
at::Tensor blobs(std::uint64_t seed, std::int64_t side = 32) {
  at::manual_seed(seed);
  const at::Tensor axis = at::linspace(-1.0, 1.0, side);
  const at::Tensor centre = at::rand({kCount, 2, 1, 1}) - 0.5;
  const at::Tensor squared = (axis.reshape({1, -1, 1}) - centre.select(1, 0)).square() +
                             (axis.reshape({1, 1, -1}) - centre.select(1, 1)).square();
  const at::Tensor shape = at::exp(-squared * 8.0).unsqueeze(1);
  const at::Tensor inside = at::rand({kCount, 3, 1, 1}) * 2.0 - 1.0;
  const at::Tensor outside = at::rand({kCount, 3, 1, 1}) * 2.0 - 1.0;
  return shape * inside + (1.0 - shape) * outside;
}

at::Tensor in_grey(const at::Tensor& images) {
  return images.mean(at::IntArrayRef{1}, /*keepdim=*/true).expand_as(images).contiguous();
}

TEST(LaplacianPyramid, AddsUpToThePicture) {
  const at::Tensor images = blobs(1, 64);
  const std::vector<at::Tensor> levels = laplacian_pyramid(images);
  ASSERT_THAT(levels, SizeIs(3));
  EXPECT_EQ(levels[2].size(3), 16);
  // The pyramid's fine levels of a constant picture are zero.
  const std::vector<at::Tensor> even = laplacian_pyramid(at::full({1, 3, 32, 32}, 0.25));
  EXPECT_LT(even[0].abs().max().item<float>(), 1e-6F);
  EXPECT_LT((even[1] - 0.25).abs().max().item<float>(), 1e-6F);
}

TEST(SlicedDistance, OfASetToItselfIsNothing) {
  const at::Tensor images = blobs(1);
  EXPECT_LT(distance(images, images), 1e-4);
}

TEST(SlicedDistance, IsSmallestToOtherPicturesOfTheKind) {
  const at::Tensor real = blobs(1);
  at::manual_seed(9);
  const at::Tensor noise = at::rand({kCount, 3, 32, 32}) * 2.0 - 1.0;
  EXPECT_LT(3.0 * distance(real, blobs(2)), distance(real, noise));
}

/// A score by a network for grey pictures cannot see this difference.
TEST(SlicedDistance, HoldsGreyPicturesForWorseThanColouredOnes) {
  const at::Tensor real = blobs(1);
  EXPECT_GT(distance(real, in_grey(blobs(2))), 1.5 * distance(real, blobs(2)));
}

TEST(SlicedDistance, DependsOnNothingButPicturesAndSeeds) {
  EXPECT_EQ(distance(blobs(1), blobs(2)), distance(blobs(1), blobs(2)));
}

}  // namespace
}  // namespace gangway::gan
