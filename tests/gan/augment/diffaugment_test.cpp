// SPDX-License-Identifier: MIT
#include "gan/augment/diffaugment.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "gan/random_tensors.hpp"

namespace gangway::gan {
namespace {

constexpr std::int64_t kDiffCount = 64;
constexpr std::int64_t kDiffSide = 16;

RandomKey augment_key(std::int32_t microbatch = 0) { return {.seed = 3, .microbatch = microbatch}; }

at::Tensor colored_pictures() {
  return keyed_normal({.seed = 4}, {kDiffCount, 3, kDiffSide, kDiffSide}, at::kCPU);
}

TEST(DiffAugment, IsTheSameForOneKeyAndAnotherForAnother) {
  const AugmentKinds all = available_kinds(AugmentPolicy::kDiffAugment);
  const at::Tensor once = diff_augmented(colored_pictures(), all, augment_key());
  EXPECT_TRUE(at::equal(diff_augmented(colored_pictures(), all, augment_key()), once));
  EXPECT_FALSE(at::equal(diff_augmented(colored_pictures(), all, augment_key(1)), once));
}

TEST(DiffAugment, ColorsMoveMeanAndContrastWithinTheirBounds) {
  const at::Tensor pictures = colored_pictures();
  const at::Tensor result = diff_augmented(pictures, {AugmentKind::kColor}, augment_key());
  // Only brightness changes the mean of a picture, only contrast the differences of greys.
  const at::Tensor lit = (result - pictures).mean({1, 2, 3});
  EXPECT_LE(lit.abs().max().item<float>(), 0.5F + 1e-5F);
  EXPECT_LT(lit.min().item<float>(), -0.25F);
  EXPECT_GT(lit.max().item<float>(), 0.25F);
  const at::Tensor before = pictures.mean(1);
  const at::Tensor after = result.mean(1);
  const at::Tensor contrast = (after - after.mean({1, 2}, true)).flatten(1).norm(2, 1) /
                              (before - before.mean({1, 2}, true)).flatten(1).norm(2, 1);
  EXPECT_GE(contrast.min().item<float>(), 0.5F - 1e-4F);
  EXPECT_LE(contrast.max().item<float>(), 1.5F + 1e-4F);
  EXPECT_GT((contrast.max() - contrast.min()).item<float>(), 0.5F);
}

TEST(DiffAugment, SaturationSparesGreyPictures) {
  const at::Tensor grey = colored_pictures().narrow(1, 0, 1);
  const at::Tensor wide = diff_augmented(grey.expand({kDiffCount, 3, kDiffSide, kDiffSide}),
                                         {AugmentKind::kColor}, augment_key());
  const at::Tensor narrow = diff_augmented(grey, {AugmentKind::kColor}, augment_key());
  EXPECT_LE((wide - narrow).abs().max().item<float>(), 1e-5F);
}

TEST(DiffAugment, TranslatesByWholePixelsAndLetsZerosIn) {
  const at::Tensor pictures = at::ones({kDiffCount, 1, kDiffSide, kDiffSide}, at::kFloat);
  const at::Tensor result = diff_augmented(pictures, {AugmentKind::kTranslation}, augment_key());
  const at::Tensor rows = (result.amax({1, 3}) > 0.5).sum(1);  // rows that are not zero
  const at::Tensor columns = (result.amax({1, 2}) > 0.5).sum(1);
  EXPECT_EQ(rows.min().item<std::int64_t>(), kDiffSide - 2);  // an eighth of the side
  EXPECT_EQ(columns.min().item<std::int64_t>(), kDiffSide - 2);
  EXPECT_EQ(rows.max().item<std::int64_t>(), kDiffSide);
  EXPECT_TRUE(at::equal(result.sum({1, 2, 3}), (rows * columns).to(at::kFloat)));
}

TEST(DiffAugment, CutsOutASquareWhoseCentreIsAnywhere) {
  const at::Tensor pictures = at::ones({kDiffCount, 2, kDiffSide, kDiffSide}, at::kFloat);
  const at::Tensor result = diff_augmented(pictures, {AugmentKind::kCutout}, augment_key());
  const at::Tensor left = result.select(1, 0).sum({1, 2});
  EXPECT_EQ(left.min().item<float>(), 256.0F - 64.0F);
  EXPECT_GT(left.max().item<float>(), 256.0F - 64.0F);  // some squares lie partly outside
  EXPECT_LT(left.max().item<float>(), 256.0F);
  EXPECT_TRUE(at::equal(result.select(1, 0), result.select(1, 1)));
}

TEST(DiffAugment, LetsGradientsThrough) {
  const at::Tensor in = colored_pictures().to(at::kDouble).requires_grad_(true);
  const auto transform = [](const at::Tensor& pictures) {
    return diff_augmented(pictures, available_kinds(AugmentPolicy::kDiffAugment), augment_key());
  };
  const at::Tensor weights = keyed_normal({.seed = 5}, in.sizes(), at::kCPU).to(at::kDouble);
  const at::Tensor direction = keyed_normal({.seed = 6}, in.sizes(), at::kCPU).to(at::kDouble);
  (transform(in) * weights).sum().backward();
  const at::NoGradGuard no_grad;
  const double expected = ((transform(in + direction) - transform(in - direction)) / 2.0 * weights)
                              .sum()
                              .item<double>();
  EXPECT_NEAR((in.grad() * direction).sum().item<double>(), expected, 1e-8 * std::abs(expected));
}

}  // namespace
}  // namespace gangway::gan
