// SPDX-License-Identifier: MIT
// Gradients of the recipe style-transfer, against plain autograd through its losses written down
// once more by LibTorch's own functions.
#include <gtest/gtest.h>

#include "gan/blocks/build_networks.hpp"
#include "gan/data/images/style_picture.hpp"
#include "gan/data/open_dataset.hpp"
#include "gan/recipes/recipes.hpp"
#include "job/families/families.hpp"
#include "pipeline/stages/stage_schedule.hpp"
#include "tests/fidelity/small_jobs.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/worker/gradients.hpp"
#include "worker/pass/pass_run.hpp"

namespace gangway::worker {
namespace {

using pipeline::Operation;

/// Micro-batch 0 of a job that changes pictures.
class Transfer {
 public:
  explicit Transfer(JobSpec job) : job_(std::move(job)), phases_(gan::phases_of(job_)) {
    for (gan::Network& network : networks_) {
      network.initialise(job_.training.seed);
      pointers_.add(&network);
      sinks_.add(&statistics_);
    }
    real_ = reals_.take(0, 0, 0).images;
  }

  Gradients of_recipe() {
    forget();
    PassRun run({.job = job_,
                 .phases = phases_,
                 .networks = pointers_,
                 .sinks = sinks_,
                 .reals = reals_,
                 .device = at::kCPU});
    run.begin_step(0);
    StepLosses losses({0, 1}, networks_.size());
    for (const pipeline::Instruction& at :
         pipeline::one_stage_schedule(phases_, {0, 1}, 0, Overlap::kNone)) {
      if (at.operation == Operation::kForward) {
        run.forward(at);
      } else if (at.operation == Operation::kBackward) {
        run.backward(at, losses);
      }
    }
    losses.close();
    shown_ = losses.read().front().by_network.front();
    return gradients();
  }

  Gradients of_plain_loss() {
    forget();
    const at::Tensor loss = plain_loss();
    plain_ = loss.item<double>();
    torch::autograd::backward({loss}, {});
    const Gradients found = gradients();
    for (const auto& named : networks_[job_.id_of("features")].parameters()) {
      named.parameter->tensor.mutable_grad().reset();
    }
    return found;
  }

  [[nodiscard]] double shown() const { return shown_; }
  [[nodiscard]] double plain() const { return plain_; }
  /// That the recipe has left nothing in the frozen weights.
  void expect_frozen() {
    for (const auto& named : networks_[job_.id_of("features")].parameters()) {
      EXPECT_FALSE(named.parameter->tensor.grad().defined()) << named.name;
    }
  }

 private:
  std::vector<at::Tensor> levels(const at::Tensor& images) {
    return networks_[job_.id_of("features")].forward_levels(
        {{"image", images}}, {.mode = gan::Mode::kEvaluation, .sink = nullptr, .key = {}});
  }
  /// Correlations of the maps, by a sum over pixels.
  static at::Tensor gram(const at::Tensor& maps) {
    return at::einsum("nchw,ndhw->ncd", {maps, maps}) /
           static_cast<double>(maps.size(1) * maps.size(2) * maps.size(3));
  }
  at::Tensor plain_loss() {
    const StyleSpec& style = job_.training.style;
    const at::Tensor made = networks_[job_.id_of("generator")].forward({{"image", real_}}, {});
    std::vector<float> pixels = data::read_style_picture(job_);
    std::vector<std::int64_t> shape = example_shape(job_.model);
    shape.insert(shape.begin(), 1);
    const std::vector<at::Tensor> of_style =
        levels(at::from_blob(pixels.data(), shape, at::kFloat).clone());
    const std::vector<at::Tensor> of_real = levels(real_);
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
  void forget() {
    for (gan::Network& network : networks_) {
      for (const auto& named : network.parameters()) {
        named.parameter->tensor.mutable_grad().reset();
      }
    }
  }
  [[nodiscard]] Gradients gradients() {
    Gradients found;
    for (const auto& named : networks_[job_.id_of("generator")].parameters()) {
      found[named.name] = named.parameter->tensor.grad().clone();
    }
    return found;
  }

  JobSpec job_;
  std::vector<pipeline::Phase> phases_;
  PerNetwork<gan::Network> networks_ = gan::build_networks(job_);
  PerNetwork<gan::Network*> pointers_;
  SeenStatistics statistics_;  // nobody looks at them
  PerNetwork<gan::StatisticSink*> sinks_;
  std::unique_ptr<data::Dataset> dataset_ =
      data::open_dataset(job_.data, job_.model, job_.training.seed);
  RealBatches reals_{job_, *dataset_, MicrobatchRange{0, 1}, 0};
  at::Tensor real_;
  double shown_ = 0.0;
  double plain_ = 0.0;
};

/// A bias before InstanceNorm moves nothing: its gradient is rounding alone.
void drop_idle_biases(Gradients& gradients) {
  std::erase_if(gradients, [](const auto& entry) {
    const std::string& name = entry.first;
    const bool is_last = name == "generator/6/bias";  // of the layer without a norm
    return !is_last && name.ends_with("bias") && name.find("norm") == std::string::npos;
  });
}

TEST(StyleTransferGradients, AreThoseOfPlainAutograd) {
  const testing::ScratchFolder folder;
  fidelity::write_tiny_images(folder.path());
  Transfer transfer(fidelity::small_style_transfer(folder.path()));
  Gradients expected = transfer.of_plain_loss();
  Gradients found = transfer.of_recipe();
  transfer.expect_frozen();
  EXPECT_NEAR(transfer.shown(), transfer.plain(), 1e-6 * transfer.plain());
  drop_idle_biases(expected);
  drop_idle_biases(found);
  expect_close(found, expected, 1e-5);  // float32 behind seven normalized layers
}

}  // namespace
}  // namespace gangway::worker
