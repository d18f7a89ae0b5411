// SPDX-License-Identifier: MIT
#include "launch/model/compute/penalty_errors.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>

#include "checkpoint/format/weights_file.hpp"
#include "gan/blocks/build_networks.hpp"
#include "gan/losses/penalty.hpp"
#include "gan/random_tensors.hpp"
#include "job/blocks/style_specs.hpp"
#include "job/families/families.hpp"

namespace gangway::launch {
namespace {

struct PenaltyCase {
  std::string name;
  gan::PenaltyKind kind;
  std::string network;
  std::string tensor;  ///< whose gradient is penalised
};

std::vector<PenaltyCase> cases_of(const JobSpec& job) {
  const PenaltySpec& penalty = job.training.penalty;
  std::vector<PenaltyCase> cases;
  if (penalty.r1_gamma > 0.0 || penalty.r2_gamma > 0.0) {
    cases.push_back({"R1", gan::PenaltyKind::kR1, "discriminator", "image"});
  }
  if (penalty.gradient_penalty > 0.0) {
    cases.push_back(
        {"gradient penalty", gan::PenaltyKind::kGradientPenalty, "discriminator", "image"});
  }
  if (job.training.path_length.is_any()) {
    cases.push_back({"path lengths", gan::PenaltyKind::kPathLength, "generator", kStyles});
  }
  return cases;
}

/// Reads the network's weights and statistics.
void read_weights(gan::Network& network, const std::string& file) {
  const checkpoint::InitialWeights weights(network.name() + ".weights", file);
  std::vector<checkpoint::WantedTensor> wanted;
  std::vector<at::Tensor> tensors;
  for (const gan::Network::NamedParameter& named : network.parameters()) {
    wanted.push_back({named.name, named.parameter->tensor.sizes().vec()});
    tensors.push_back(named.parameter->tensor);
  }
  for (const gan::Network::NamedStatistic& named : network.statistics()) {
    wanted.push_back({named.name, named.statistic->running.sizes().vec()});
    tensors.push_back(named.statistic->running);
  }
  weights.require(wanted);
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (checkpoint::is_of_a_training(wanted[i].name)) {
      continue;
    }
    const at::Tensor values = at::empty(tensors[i].sizes(), at::kFloat);
    const std::span<const std::byte> bytes = weights.bytes(wanted[i].name);
    std::memcpy(values.mutable_data_ptr(), bytes.data(), bytes.size());
    tensors[i].copy_(values);
  }
}

class PenaltyMeasurement {
 public:
  PenaltyMeasurement(const JobSpec& job, const PenaltyCase& of)
      : job_(job),
        of_(of),
        networks_(gan::build_networks(job)),
        network_(networks_[job.id_of(of.network)]) {
    network_.initialise(job.training.seed);
    if (const std::string& file = job.network(of.network).weights; !file.empty()) {
      read_weights(network_, file);
    }
    const int examples = examples_of_penalties(job);
    std::vector<std::int64_t> shape = example_shape(job.model);
    shape.insert(shape.begin(), examples);
    in_ = {{"image", gan::keyed_normal({.seed = 1}, shape, at::kCPU)},
           {"noise", gan::keyed_normal({.seed = 2}, {examples, job.model.inputs()}, at::kCPU)},
           {"labels",
            gan::keyed_labels({.seed = 3}, examples, std::max(1, job.model.classes), at::kCPU)}};
  }

  std::vector<PenaltyError> errors() {
    std::vector<std::pair<Precision, Result>> found;
    for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
      found.emplace_back(precision, computed(at::kFloat, precision));
    }
    const Result exact = computed(at::kDouble, Precision::kFp32);
    std::vector<PenaltyError> all;
    for (const auto& [precision, result] : found) {
      all.push_back({.penalty = of_.name,
                     .network = of_.network,
                     .precision = precision,
                     .norms = distance(result.norms, exact.norms),
                     .weights = distance(result.gradient, exact.gradient)});
    }
    return all;
  }

 private:
  /// In float64.
  struct Result {
    at::Tensor norms;     // [N]
    at::Tensor gradient;  // [all weights]
  };

  static double distance(const at::Tensor& value, const at::Tensor& exact) {
    return ((value - exact).norm() / exact.norm()).item<double>();
  }

  [[nodiscard]] at::Tensor converted(const at::Tensor& x, at::ScalarType type) const {
    const at::Tensor value = x.is_floating_point() ? x.to(type) : x;
    return job_.numerics.memory_format == MemoryFormat::kChannelsLast && x.dim() == 4
               ? value.contiguous(at::MemoryFormat::ChannelsLast)
               : value;
  }

  Result computed(at::ScalarType type, Precision precision) {
    for (const gan::Network::NamedParameter& named : network_.parameters()) {
      at::Tensor& tensor = named.parameter->tensor;
      tensor.mutable_grad().reset();
      tensor.set_data(converted(tensor.detach(), type));
    }
    for (const gan::Network::NamedStatistic& named : network_.statistics()) {
      named.statistic->running = named.statistic->running.to(type);
    }
    gan::BlockwisePenalty penalty(network_, of_.kind, /*weight=*/1.0);
    const gan::ForwardContext context{.key = {.seed = 4}, .precision = precision};
    const gan::NamedTensors made = penalty.sweeps().forward(
        in_.each([&](const at::Tensor& x) { return converted(x, type); }), context);
    const gan::BlockSweeps::ByName cotangents =
        penalty.sweeps().cotangents(penalty.last_cotangents(made, context.key));
    (void)penalty.measure(cotangents, nullptr);
    (void)penalty.backward();
    std::vector<at::Tensor> gradients;
    for (const gan::Network::NamedParameter& named : network_.parameters()) {
      const at::Tensor& tensor = named.parameter->tensor;
      gradients.push_back((tensor.grad().defined() ? tensor.grad() : at::zeros_like(tensor))
                              .to(at::kDouble)
                              .flatten());
    }
    const at::Tensor gradient = cotangents.at(of_.tensor).detach().to(at::kDouble);
    return {gradient.flatten(1).square().sum(1).sqrt(), at::cat(gradients)};
  }

  const JobSpec& job_;
  const PenaltyCase& of_;
  PerNetwork<gan::Network> networks_;
  gan::Network& network_;
  gan::NamedTensors in_;
};

}  // namespace

int examples_of_penalties(const JobSpec& job) { return std::min(16, job.images_per_microbatch()); }

std::vector<PenaltyError> penalty_errors(const JobSpec& job) {
  std::vector<PenaltyError> all;
  for (const PenaltyCase& one : cases_of(job)) {
    std::ranges::move(PenaltyMeasurement(job, one).errors(), std::back_inserter(all));
  }
  return all;
}

}  // namespace gangway::launch
