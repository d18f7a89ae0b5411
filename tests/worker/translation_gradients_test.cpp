// SPDX-License-Identifier: MIT
// Gradients of the recipes that make pictures of pictures, against plain autograd through their
// losses written down once more.
#include <algorithm>
#include <iterator>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "gan/blocks/build_networks.hpp"
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

constexpr double kTranslationTolerance = 1e-5;

/// Micro-batch 0 of a job of two sides.
class Translation {
 public:
  explicit Translation(JobSpec job) : job_(std::move(job)), phases_(gan::phases_of(job_)) {
    for (gan::Network& network : networks_) {
      network.initialise(job_.training.seed);
      pointers_.add(&network);
      sinks_.add(&statistics_);
    }
    real_ = reals_.take(0, 0, 0).images;
  }

  /// What the recipe leaves in the networks that `phase` trains, whose weights stay as they are.
  Gradients of_recipe(int phase) {
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
      if (at.operation == pipeline::Operation::kOpenLeaf && at.phase == phase) {
        forget_all();
      } else if (at.operation == pipeline::Operation::kForward) {
        run.forward(at);
      } else if (at.operation == pipeline::Operation::kBackward) {
        run.backward(at, losses);
      }
      if (at.operation == pipeline::Operation::kReduce && at.phase == phase) {
        break;
      }
    }
    return gradients(phase);
  }
  Gradients of(int phase, const at::Tensor& loss) {
    forget_all();
    torch::autograd::backward({loss}, {});
    return gradients(phase);
  }

  [[nodiscard]] at::Tensor apply(const std::string& network, const at::Tensor& pictures) {
    return networks_[job_.id_of(network)].forward({{"image", pictures}}, {});
  }
  /// @param number  0 or 1
  [[nodiscard]] at::Tensor side(std::int64_t number) const {
    const std::int64_t channels = real_.size(1) / 2;
    return real_.slice(1, number * channels, (number + 1) * channels)
        .contiguous(real_.suggest_memory_format());
  }

 private:
  void forget_all() {
    for (gan::Network& network : networks_) {
      for (const auto& named : network.parameters()) {
        named.parameter->tensor.mutable_grad().reset();
      }
    }
  }
  [[nodiscard]] Gradients gradients(int phase) {
    Gradients found;
    for (const NetworkId network : phases_[static_cast<std::size_t>(phase)].networks) {
      for (const auto& named : networks_[network].parameters()) {
        found[named.name] = named.parameter->tensor.grad().clone();
      }
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
};

at::Tensor to_one(const at::Tensor& logits) { return at::mse_loss(logits, at::ones_like(logits)); }

at::Tensor to_zero(const at::Tensor& logits) {
  return at::mse_loss(logits, at::zeros_like(logits));
}

/// The same, but for biases in front of a normalization, which takes them out again: their
/// gradients are rounding alone.
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
  TranslationGradients() { fidelity::write_tiny_images(folder.path() / "images"); }
  [[nodiscard]] JobSpec job_of(const char* recipe, const char* family) const {
    JobSpec job = fidelity::small_translation(*recipe_named(recipe), family_named(family),
                                              folder.path() / "images");
    job.training.translation.pool = 0;
    job.numerics.memory_format = MemoryFormat::kContiguous;  // as the plain one's
    return job;
  }
  const gangway::testing::ScratchFolder folder;
};

TEST_F(TranslationGradients, OfPairsAreThoseOfPlainAutograd) {
  for (const bool reuses : {false, true}) {
    JobSpec job = job_of("pix2pix", "cyclegan");
    job.training.reuse_fakes = reuses;
    Translation networks(job);
    const at::Tensor given = networks.side(0);
    const at::Tensor target = networks.side(1);
    const auto verdict = [&](const at::Tensor& second) {
      return networks.apply("discriminator", at::cat({given, second}, 1));
    };
    const at::Tensor fake = networks.apply("generator", given);
    expect_close_where_any(
        networks.of_recipe(0),
        networks.of(0, 0.5 * (to_zero(verdict(fake.detach())) + to_one(verdict(target)))));
    expect_close_where_any(
        networks.of_recipe(1),
        networks.of(1, to_one(verdict(fake)) + 100.0 * at::l1_loss(fake, target)));
  }
}

TEST_F(TranslationGradients, OfCyclesAreThoseOfPlainAutograd) {
  Translation networks(job_of("cyclegan", "cyclegan"));
  const at::Tensor a = networks.side(0);
  const at::Tensor b = networks.side(1);
  const auto forth = [&](const at::Tensor& x) { return networks.apply("generator_ab", x); };
  const auto back = [&](const at::Tensor& x) { return networks.apply("generator_ba", x); };
  const at::Tensor fake_a = back(b);
  const at::Tensor fake_b = forth(a);
  expect_close_where_any(
      networks.of_recipe(0),
      networks.of(0, to_one(networks.apply("discriminator_b", fake_b)) +
                         to_one(networks.apply("discriminator_a", fake_a)) +
                         10.0 * (at::l1_loss(back(fake_b), a) + at::l1_loss(forth(fake_a), b)) +
                         5.0 * (at::l1_loss(forth(b), b) + at::l1_loss(back(a), a))));
  const auto judged = [&](const char* judge, const at::Tensor& real, const at::Tensor& fake) {
    return 0.5 *
           (to_one(networks.apply(judge, real)) + to_zero(networks.apply(judge, fake.detach())));
  };
  expect_close_where_any(
      networks.of_recipe(1),
      networks.of(1, judged("discriminator_a", a, fake_a) + judged("discriminator_b", b, fake_b)));
}

}  // namespace
}  // namespace gangway::worker
