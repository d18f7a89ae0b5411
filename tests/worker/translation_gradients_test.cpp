// SPDX-License-Identifier: MIT
// Compares gradients of the image-to-image recipes with plain autograd through their losses,
// written independently.
#include <algorithm>
#include <iterator>

#include <gtest/gtest.h>

#include "job/families/families.hpp"
#include "tests/fidelity/small_jobs.hpp"
#include "tests/named_rows.hpp"
#include "tests/worker/one_microbatch.hpp"

namespace gangway::worker {
namespace {

constexpr double kTranslationTolerance = 1e-5;

/// @param number  0 or 1: side of the job's pictures
at::Tensor side(OneMicrobatch& networks, std::int64_t number) {
  const at::Tensor real = networks.real();
  const std::int64_t channels = real.size(1) / 2;
  return real.slice(1, number * channels, (number + 1) * channels)
      .contiguous(real.suggest_memory_format());
}

at::Tensor to_one(const at::Tensor& logits) { return at::mse_loss(logits, at::ones_like(logits)); }

at::Tensor to_zero(const at::Tensor& logits) {
  return at::mse_loss(logits, at::zeros_like(logits));
}

/// The same, except for biases before a normalization. It cancels them, so their gradients consist
/// of rounding errors.
void expect_close_where_any(Gradients found, Gradients expected) {
  double largest = 0.0;
  for (const auto& [name, gradient] : expected) {
    largest = std::max(largest, gradient.abs().max().item<double>());
  }
  const double rounding = 1e-5 * largest;
  for (auto entry = expected.begin(); entry != expected.end();) {
    const bool is_none = entry->second.abs().max().item<double>() < rounding;
    if (is_none) {
      EXPECT_TRUE(entry->first.ends_with("bias")) << entry->first;
      EXPECT_LT(found.at(entry->first).abs().max().item<double>(), rounding) << entry->first;
      found.erase(entry->first);
    }
    entry = is_none ? expected.erase(entry) : std::next(entry);
  }
  expect_close(found, expected, kTranslationTolerance);
}

class TranslationGradients : public ::testing::Test {
 protected:
  [[nodiscard]] JobSpec job_of(const char* recipe, const char* family) const {
    JobSpec job = fidelity::small_translation(*recipe_named(recipe), family_named(family),
                                              fidelity::tiny_images());
    job.training.translation.pool = 0;
    job.numerics.memory_format = MemoryFormat::kContiguous;  // as in the plain code
    return job;
  }
};

TEST_F(TranslationGradients, OfPairsAreThoseOfPlainAutograd) {
  for (const bool reuses : {false, true}) {
    JobSpec job = job_of("pix2pix", "cyclegan");
    job.training.reuse_fakes = reuses;
    OneMicrobatch networks(job);
    const at::Tensor given = side(networks, 0);
    const at::Tensor target = side(networks, 1);
    const auto verdict = [&](const at::Tensor& second) {
      return networks.apply("discriminator", at::cat({given, second}, 1));
    };
    const at::Tensor fake = networks.apply("generator", given);
    expect_close_where_any(
        networks.of_recipe(0),
        networks.of_loss(0, 0.5 * (to_zero(verdict(fake.detach())) + to_one(verdict(target)))));
    expect_close_where_any(
        networks.of_recipe(1),
        networks.of_loss(1, to_one(verdict(fake)) + 100.0 * at::l1_loss(fake, target)));
  }
}

TEST_F(TranslationGradients, OfCyclesAreThoseOfPlainAutograd) {
  OneMicrobatch networks(job_of("cyclegan", "cyclegan"));
  const at::Tensor a = side(networks, 0);
  const at::Tensor b = side(networks, 1);
  const auto forth = [&](const at::Tensor& x) { return networks.apply("generator_ab", x); };
  const auto back = [&](const at::Tensor& x) { return networks.apply("generator_ba", x); };
  const at::Tensor fake_a = back(b);
  const at::Tensor fake_b = forth(a);
  expect_close_where_any(
      networks.of_recipe(0),
      networks.of_loss(0,
                       to_one(networks.apply("discriminator_b", fake_b)) +
                           to_one(networks.apply("discriminator_a", fake_a)) +
                           10.0 * (at::l1_loss(back(fake_b), a) + at::l1_loss(forth(fake_a), b)) +
                           5.0 * (at::l1_loss(forth(b), b) + at::l1_loss(back(a), a))));
  const auto judged = [&](const char* judge, const at::Tensor& real, const at::Tensor& fake) {
    return 0.5 *
           (to_one(networks.apply(judge, real)) + to_zero(networks.apply(judge, fake.detach())));
  };
  expect_close_where_any(networks.of_recipe(1),
                         networks.of_loss(1, judged("discriminator_a", a, fake_a) +
                                                 judged("discriminator_b", b, fake_b)));
}

}  // namespace
}  // namespace gangway::worker
