// SPDX-License-Identifier: MIT
// Computes one step's gradients by the textbook: whole networks, LibTorch's autograd, plain sums
// over the micro-batches, one process. Shares with Gangway the networks' definition, the keys of
// random draws and the data, but no blocks, sweeps, leaves, arenas, trees or slices. Called by
// tests from any one thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.hpp"
#include "gan/blocks/build_networks.hpp"
#include "pipeline/phases.hpp"
#include "tests/gan/statistic_sums.hpp"

namespace gangway::fidelity {

using NamedValues = std::map<std::string, at::Tensor>;  ///< "discriminator/0/weight" → tensor

struct PlainGradients {
  NamedValues mean;            ///< over the micro-batches
  NamedValues statistics;      ///< means for BatchNorm and path lengths, over micro-batches and
                               ///< harvesting passes
  std::vector<double> losses;  ///< by micro-batch
};

class PlainReference {
 public:
  /// Makes networks of the job's seed, in `precision` (kFloat or kDouble).
  PlainReference(const JobSpec& job, at::ScalarType precision);

  /// Replaces weights and running values by values of equal name; keeps the others.
  void set_weights(const NamedValues& values);
  /// Returns the gradients of one repeat of a phase of `step`.
  [[nodiscard]] PlainGradients gradients(const pipeline::Phase& phase, std::int64_t step,
                                         int repeat);

 private:
  struct Place {  // place of a pass in the job, for its keys
    const pipeline::Phase& phase;
    std::int64_t step = 0;
    int repeat = 0;
    int pass = 0;
    int microbatch = 0;
  };
  struct Images {
    at::Tensor pixels;
    at::Tensor labels;
  };

  [[nodiscard]] at::Tensor pass_loss(const Place& at);
  [[nodiscard]] Images reals(const Place& at) const;
  /// Returns the place whose draws `at` uses for its examples.
  [[nodiscard]] Place drawn_in(const Place& at) const;
  [[nodiscard]] Images fakes(const Place& at);
  [[nodiscard]] at::Tensor logits(const Place& at, const Images& images, int sub_pass);
  /// Returns the input of `count` examples that are drawn in `at`.
  [[nodiscard]] gan::NamedTensors generator_input(const Place& at, int count) const;
  /// Returns the discriminator's loss on real images, some of which count as generated.
  [[nodiscard]] at::Tensor noisy_loss(const Place& at, const at::Tensor& said) const;
  /// Returns zero if the job has no LeCam regularisation. @param kind  the moving mean of `said`
  [[nodiscard]] at::Tensor lecam(const at::Tensor& said, const std::string& kind,
                                 const std::string& other);
  [[nodiscard]] at::Tensor path_lengths(const Place& at);
  [[nodiscard]] at::Tensor gradient_penalty(const Place& at);
  /// Returns the factor of a linear schedule with its own end, in images at the end of the step.
  [[nodiscard]] double factor_of(const ScheduleSpec& schedule, std::int64_t step) const;
  [[nodiscard]] at::Tensor r1_on(const Place& at, const Images& images, double gamma);
  [[nodiscard]] RandomKey key(const Place& at, RandomDraw draw) const;
  [[nodiscard]] gan::ForwardContext context(const Place& at, gan::StatisticSink* sink,
                                            int sub_pass) const;
  [[nodiscard]] gan::NamedTensors input(const Images& images) const;
  [[nodiscard]] gan::Network& network(NetworkId id);

  JobSpec job_;
  at::ScalarType precision_;
  std::vector<pipeline::Phase> phases_;
  std::unique_ptr<data::Dataset> dataset_;
  PerNetwork<gan::Network> networks_;
  gan::StatisticSums seen_;
};

/// Returns the largest difference relative to the reference's largest value; 0 if both are zero.
[[nodiscard]] double relative_error(const at::Tensor& value, const at::Tensor& reference);

}  // namespace gangway::fidelity
