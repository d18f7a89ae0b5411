// SPDX-License-Identifier: MIT
#include "worker/arithmetic/trial_microbatch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/version.h>

#include "base/hash.hpp"
#include "data/dataset.hpp"
#include "data/open_dataset.hpp"
#include "gan/blocks/build_networks.hpp"
#include "gan/random.hpp"
#include "gan/random_tensors.hpp"
#include "gan/recipes/recipes.hpp"
#include "job/families/families.hpp"
#include "pipeline/stages/stage_schedule.hpp"
#include "worker/pass/pass_run.hpp"

namespace gangway::worker {
namespace {

using pipeline::Instruction;
using pipeline::Operation;

/// Incremented when the hashed content changes; hashes of two revisions are not comparable.
constexpr int kTrialRevision = 1;
/// A single image has no spread for BatchNorm to divide by; more images slow every start.
constexpr int kTrialImages = 2;

/// Returns the job with one micro-batch of few images, and one update of each network.
Job trial_of(Job job) {
  job.training.batch = std::min(job.images_per_microbatch(), kTrialImages);
  job.training.microbatches = 1;
  job.training.translation.pool = 0;  // an image pool needs earlier steps
  job.data.prefetch = 1;
  for (NetworkSpec& network : job.networks) {
    network.steps = job.training.step.is_python() ? network.steps : 1;  // its phases set the number
  }
  return job;
}

/// Makes examples from keys, because opening the data may be slow and data are checked elsewhere.
class KeyedExamples final : public data::Dataset {
 public:
  explicit KeyedExamples(const Job& job)
      : random_({.seed = job.training.seed, .phase = kPhaseTrial}), classes_(job.model.classes) {
    const std::vector<std::int64_t> shape = example_shape(job.model);
    shape_.channels = static_cast<int>(shape.front()) * (job.data.has_two_sides() ? 2 : 1);
    if (shape.size() == 3) {
      shape_.height = static_cast<int>(shape[1]);
      shape_.width = static_cast<int>(shape[2]);
    }
  }
  [[nodiscard]] std::int64_t size() const override { return kSize; }
  [[nodiscard]] data::ExampleShape shape() const override { return shape_; }
  [[nodiscard]] int num_classes() const override { return classes_; }
  [[nodiscard]] int read(std::int64_t index, std::span<float> out) const override {
    const std::uint64_t first = static_cast<std::uint64_t>(index) * shape_.elements();
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = 2.0F * random_.uniform(first + i) - 1.0F;
    }
    return label(index);
  }
  [[nodiscard]] int label(std::int64_t index) const override {
    return classes_ == 0 ? 0 : static_cast<int>(index % classes_);
  }
  [[nodiscard]] std::string fingerprint() const override { return {}; }

 private:
  static constexpr std::int64_t kSize = 64;
  KeyedRandom random_;
  int classes_;
  data::ExampleShape shape_;
};

/// Keeps the statistics that passes see, to be hashed when all is computed.
class SeenValues final : public gan::StatisticSink {
 public:
  void take(const gan::Statistic& /*statistic*/, const at::Tensor& value) override {
    values_.push_back(value.detach());
  }
  [[nodiscard]] const std::vector<at::Tensor>& values() const { return values_; }

 private:
  std::vector<at::Tensor> values_;
};

/// Count of random numbers that fill larger tensors repeatedly, because drawing all of a large
/// network takes longer than the trial. A prime, so that rows of matrices differ.
constexpr std::int64_t kDrawn = 65'521;

/// Refills large randomly initialised tensors with repeated numbers of the same magnitude.
void shorten_draws(gan::Network& network, const at::Tensor& drawn) {
  for (const auto& named : network.parameters()) {
    gan::Parameter& parameter = *named.parameter;
    const std::int64_t count = parameter.tensor.numel();
    const bool is_orthogonal = parameter.initial == Initial::kOrthogonal;
    if (parameter.given.defined() || count <= kDrawn ||
        (parameter.initial != Initial::kNormal && !is_orthogonal)) {
      continue;
    }
    const std::int64_t rows = parameter.tensor.size(0);
    const auto longest = static_cast<double>(std::max(rows, count / rows));
    const double scale = parameter.initial_scale * (is_orthogonal ? 1.0 / std::sqrt(longest) : 1.0);
    parameter.given = (drawn * scale)
                          .repeat({count / kDrawn + 1})
                          .slice(0, 0, count)
                          .reshape(parameter.tensor.sizes());
  }
}

/// Returns the networks as in a NetworkState, but without an arena: in the job's memory format, on
/// the device.
PerNetwork<gan::Network> networks_on(const Job& job, at::Device device) {
  PerNetwork<gan::Network> networks = gan::build_networks(job);
  const at::NoGradGuard no_grad;
  const at::Tensor drawn = gan::keyed_normal(
      {.seed = job.training.seed, .phase = kPhaseTrial, .draw = 1}, {kDrawn}, at::kCPU);
  for (gan::Network& network : networks) {
    shorten_draws(network, drawn);
    network.initialise(job.training.seed);
    for (const auto& named : network.parameters()) {
      at::Tensor& tensor = named.parameter->tensor;
      const bool is_last =
          job.numerics.memory_format == MemoryFormat::kChannelsLast && tensor.dim() == 4;
      tensor.set_data(tensor.to(device).contiguous(is_last ? at::MemoryFormat::ChannelsLast
                                                           : at::MemoryFormat::Contiguous));
    }
    for (const auto& named : network.statistics()) {
      named.statistic->running.set_data(named.statistic->running.to(device));
    }
  }
  return networks;
}

void add(const at::Tensor& tensor, Hasher& hash) {
  if (!tensor.defined()) {
    hash.update(std::uint64_t{0});
    return;
  }
  const at::Tensor bytes = tensor.detach().to(at::kCPU).contiguous();
  hash.update(static_cast<std::uint64_t>(bytes.nbytes()));
  hash.update(std::span(static_cast<const std::byte*>(bytes.const_data_ptr()), bytes.nbytes()));
}

/// Runs the passes of the step, without sums over micro-batches and without updates.
void compute(PassRun& pass, const std::vector<Instruction>& step, StepLosses& losses) {
  for (const Instruction& at : step) {
    switch (at.operation) {
      case Operation::kForward:
        pass.forward(at);
        break;
      case Operation::kBackward:
        pass.backward(at, losses);
        break;
      case Operation::kPenaltyForward:
        pass.penalty_forward(at);
        break;
      case Operation::kPenaltyBackward:
        pass.penalty_backward(at, losses, [](std::size_t) {});
        break;
      default:
        break;
    }
  }
}

}  // namespace

std::string trial_bits(const Job& job, ComputeDevice& device) {
  const Job trial = trial_of(job);
  PerNetwork<gan::Network> networks = networks_on(trial, device.device());
  PerNetwork<gan::Network*> plain;
  std::vector<SeenValues> seen(networks.size());
  PerNetwork<gan::StatisticSink*> sinks;
  for (const NetworkId network : networks.ids()) {
    plain.add(&networks[network]);
    sinks.add(&seen[static_cast<std::size_t>(network)]);
  }
  const std::vector<pipeline::Phase> phases = gan::phases_of(trial, TORCH_VERSION);
  // A step of the user's own defines the content of its data, so the trial cannot imitate it.
  const bool is_own = trial.data.takes == ExampleKind::kAny;
  const std::unique_ptr<data::Dataset> examples =
      is_own ? data::open_dataset(trial.data, trial.model, trial.training.seed)
             : std::make_unique<KeyedExamples>(trial);
  RealBatches reals(
      trial, *examples, MicrobatchRange{0, 1}, 0, nullptr,
      [&device](const StagingSetup& staging) { return device.make_staging(staging); });
  PassRun pass({.job = trial,
                .phases = phases,
                .networks = plain,
                .sinks = sinks,
                .reals = reals,
                .device = device.device()});
  pass.begin_step(0);
  StepLosses losses({0, 1}, networks.size());
  compute(pass, pipeline::one_stage_schedule(phases, {0, 1}, 0, Overlap::kNone), losses);
  losses.close();
  Hasher hash;
  for (const messages::MicrobatchLoss& microbatch : losses.read()) {
    for (const double loss : microbatch.by_network) {
      hash.update(std::bit_cast<std::uint64_t>(loss));
    }
  }
  for (const NetworkId network : networks.ids()) {
    for (const auto& named : networks[network].parameters()) {
      add(named.parameter->tensor.grad(), hash);
    }
    for (const at::Tensor& value : seen[static_cast<std::size_t>(network)].values()) {
      add(value, hash);
    }
  }
  return fmt::format("{}-{}", kTrialRevision, hash.hex());
}

}  // namespace gangway::worker
