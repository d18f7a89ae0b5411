// SPDX-License-Identifier: MIT
// Compares gradients of the recipe style-transfer with plain autograd through its losses, written
// with LibTorch's own functions.
#include <gtest/gtest.h>

#include "data/images/style_picture.hpp"
#include "job/families/families.hpp"
#include "tests/fidelity/small_jobs.hpp"
#include "tests/worker/one_microbatch.hpp"

namespace gangway::worker {
namespace {

/// Returns the correlations of the maps, by a sum over pixels.
at::Tensor gram(const at::Tensor& maps) {
  return at::einsum("nchw,ndhw->ncd", {maps, maps}) /
         static_cast<double>(maps.size(1) * maps.size(2) * maps.size(3));
}

at::Tensor plain_loss(OneMicrobatch& transfer) {
  const JobSpec& job = transfer.job();
  const StyleSpec& style = job.training.style;
  const auto levels = [&](const at::Tensor& images) {
    return transfer.network(job.id_of("features"))
        .forward_levels({{"image", images}},
                        {.mode = gan::Mode::kEvaluation, .sink = nullptr, .key = {}});
  };
  const at::Tensor made = transfer.apply("generator", transfer.real());
  std::vector<float> pixels = data::read_style_picture(job);
  std::vector<std::int64_t> shape = example_shape(job.model);
  shape.insert(shape.begin(), 1);
  const std::vector<at::Tensor> of_style =
      levels(at::from_blob(pixels.data(), shape, at::kFloat).clone());
  const std::vector<at::Tensor> of_real = levels(transfer.real());
  const std::vector<at::Tensor> of_made = levels(made);
  const auto content = static_cast<std::size_t>(style.content_level) - 1;
  at::Tensor loss =
      style.content_weight * at::mse_loss(of_made[content], of_real[content].detach());
  for (std::size_t level = 0; level < of_made.size(); ++level) {
    const at::Tensor wanted = gram(of_style[level]).detach();
    const at::Tensor found = gram(of_made[level]);
    loss = loss + style.weight * (found - wanted).square().sum({1, 2}).mean();
  }
  return loss + style.total_variation * (made.diff(1, 2).square().sum({1, 2, 3}).mean() +
                                         made.diff(1, 3).square().sum({1, 2, 3}).mean());
}

/// InstanceNorm cancels a bias before it, so its gradient consists of rounding errors.
void drop_idle_biases(Gradients& gradients) {
  std::erase_if(gradients, [](const auto& entry) {
    const std::string& name = entry.first;
    const bool is_last = name == "generator/6/bias";  // the layer without a norm
    return !is_last && name.ends_with("bias") && name.find("norm") == std::string::npos;
  });
}

TEST(StyleTransferGradients, AreThoseOfPlainAutograd) {
  OneMicrobatch transfer(fidelity::small_style_transfer(fidelity::tiny_images()));
  const at::Tensor loss = plain_loss(transfer);
  Gradients expected = transfer.of_loss(0, loss);
  Gradients found = transfer.of_recipe(0);
  for (const auto& named : transfer.network(transfer.job().id_of("features")).parameters()) {
    EXPECT_FALSE(named.parameter->tensor.grad().defined()) << named.name << " is frozen";
  }
  EXPECT_NEAR(transfer.shown().by_network.front(), loss.item<double>(), 1e-6 * loss.item<double>());
  drop_idle_biases(expected);
  drop_idle_biases(found);
  expect_close(found, expected, 1e-5);  // float32 behind seven normalized layers
}

}  // namespace
}  // namespace gangway::worker
