// SPDX-License-Identifier: MIT
// Micro-batch 0 of a job on networks with their initial weights. Computes gradients by the recipe's
// graph, and by plain autograd. Test thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/open_dataset.hpp"
#include "gan/blocks/build_networks.hpp"
#include "gan/random_tensors.hpp"
#include "gan/recipes/recipes.hpp"
#include "pipeline/stages/stage_schedule.hpp"
#include "tests/gan/statistic_sums.hpp"
#include "tests/worker/gradients.hpp"
#include "worker/pass/pass_run.hpp"

namespace gangway::worker {

class OneMicrobatch {
 public:
  explicit OneMicrobatch(JobSpec job) : job_(std::move(job)), phases_(gan::phases_of(job_)) {
    for (gan::Network& network : networks_) {
      network.initialise(job_.training.seed);
      pointers_.add(&network);
      sinks_.add(&seen_);
    }
  }

  [[nodiscard]] PassRun run_of(const std::vector<pipeline::Phase>& phases) {
    return PassRun({.job = job_,
                    .phases = phases,
                    .networks = pointers_,
                    .sinks = sinks_,
                    .reals = reals_,
                    .device = at::kCPU,
                    .loss_scale = loss_scale});
  }
  /// Returns the first phase's gradients of all networks. shown() has its losses.
  Gradients of_phases(const std::vector<pipeline::Phase>& phases) {
    PassRun run = run_of(phases);
    return left_by(run, phases, 0, {});
  }
  /// Returns the gradients of the recipe's `phase`, or of one pass of it, for the networks that it
  /// trains, in the last of `steps` steps.
  Gradients of_recipe(int phase, std::optional<int> pass = {}, std::int64_t steps = 1) {
    PassRun run = run_of(phases_);
    Gradients found;
    for (step_ = 0; step_ < steps; ++step_) {
      found = left_by(run, phases_, phase, pass);
    }
    --step_;
    return of_trained(std::move(found), phase);
  }
  /// Returns the same gradients of `loss` by plain autograd.
  Gradients of_loss(int phase, const at::Tensor& loss) { return of_trained(of_loss(loss), phase); }
  /// Returns the gradients of all networks.
  Gradients of_loss(const at::Tensor& loss) {
    forget();
    torch::autograd::backward({loss}, {});
    return gradients();
  }

  [[nodiscard]] at::Tensor apply(NetworkId network, const at::Tensor& in) {
    gan::Network& applied = networks_[network];
    return applied.forward({{applied.block(0).ports().inputs.front(), in}}, {});
  }
  [[nodiscard]] at::Tensor apply(const std::string& network, const at::Tensor& in) {
    return apply(job_.id_of(network), in);
  }
  /// Returns a key of the current step.
  [[nodiscard]] RandomKey key(RandomDraw draw, int phase, int pass = 0) const {
    return {.seed = job_.training.seed,
            .step = step_,
            .phase = phase,
            .pass = pass,
            .draw = static_cast<std::int32_t>(draw)};
  }
  [[nodiscard]] at::Tensor noise(int phase, int pass) const {
    return gan::keyed_normal(key(RandomDraw::kNoise, phase, pass), {count(), job_.model.latent},
                             at::kCPU);
  }
  [[nodiscard]] at::Tensor real() { return reals_.take(step_, 0, 0).images; }
  [[nodiscard]] int count() const { return job_.images_per_microbatch(); }
  [[nodiscard]] const JobSpec& job() const { return job_; }
  [[nodiscard]] std::int64_t step() const { return step_; }
  [[nodiscard]] gan::Network& network(NetworkId id) { return networks_[id]; }
  [[nodiscard]] at::Tensor seen_of(const gan::Statistic& statistic) const {
    return seen_.of(statistic);
  }
  /// Returns the losses of the last of_phases() or of_recipe().
  [[nodiscard]] messages::MicrobatchLoss shown() const { return losses_.read().front(); }

  std::function<double()> loss_scale;

 private:
  Gradients left_by(PassRun& run, const std::vector<pipeline::Phase>& phases, int phase,
                    std::optional<int> pass) {
    using pipeline::Operation;
    forget();
    run.begin_step(step_);
    losses_ = StepLosses({0, 1}, networks_.size());
    for (const pipeline::Instruction& at :
         pipeline::one_stage_schedule(phases, {0, 1}, 0, Overlap::kNone)) {
      const bool is_asked_for = at.phase == phase && (!pass || at.pass == *pass);
      if (pass && !is_asked_for) {
        continue;
      }
      if (at.operation == Operation::kOpenLeaf && is_asked_for) {
        forget();  // gradients of earlier phases
      } else if (at.operation == Operation::kForward) {
        run.forward(at);
      } else if (at.operation == Operation::kBackward) {
        run.backward(at, losses_);
      } else if (at.operation == Operation::kPenaltyForward) {
        run.penalty_forward(at);
      } else if (at.operation == Operation::kPenaltyBackward) {
        run.penalty_backward(at, losses_, {});
      } else if (at.operation == Operation::kReduce && is_asked_for) {
        break;
      }
    }
    losses_.close();
    return gradients();
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
    for (gan::Network& network : networks_) {
      for (const auto& named : network.parameters()) {
        if (named.parameter->tensor.grad().defined()) {
          found[named.name] = named.parameter->tensor.grad().clone();
        }
      }
    }
    return found;
  }
  [[nodiscard]] Gradients of_trained(Gradients found, int phase) {
    const auto& trained = phases_[static_cast<std::size_t>(phase)].networks;
    std::erase_if(found, [&](const auto& entry) {
      return std::ranges::none_of(trained, [&](NetworkId network) {
        return entry.first.starts_with(networks_[network].name() + "/");
      });
    });
    return found;
  }

  JobSpec job_;
  std::vector<pipeline::Phase> phases_;
  std::int64_t step_ = 0;
  PerNetwork<gan::Network> networks_ = gan::build_networks(job_);
  PerNetwork<gan::Network*> pointers_;
  gan::StatisticSums seen_;
  PerNetwork<gan::StatisticSink*> sinks_;
  std::unique_ptr<data::Dataset> dataset_ =
      data::open_dataset(job_.data, job_.model, job_.training.seed);
  RealBatches reals_{job_, *dataset_, MicrobatchRange{0, 1}, 0};
  StepLosses losses_;
};

}  // namespace gangway::worker
