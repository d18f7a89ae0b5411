// SPDX-License-Identifier: MIT
#include "launch/profile/block_costs.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "gan/torch.hpp"
#include "launch/profile/block_inputs.hpp"
#include "launch/profile/device_time.hpp"
#include "launch/profile/live_bytes.hpp"

namespace gangway::launch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kFewestTries = 5;
constexpr std::size_t kMostTries = 50;

plan::Timing timed(DeviceTime& time, const std::function<void()>& work, double seconds) {
  work();  // warm-up: the first call allocates
  std::vector<double> samples;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (samples.size() < kFewestTries || (samples.size() < kMostTries && Clock::now() < end)) {
    samples.push_back(time.of(work));
  }
  return plan::timing_of(std::move(samples));
}

/// One block, isolated from its network.
class LoneBlock {
 public:
  LoneBlock(gan::Network& network, std::size_t index, const BlockInput& input, DeviceTime& time)
      : network_(network), index_(index), context_(input.context), time_(time) {
    context_.sink = nullptr;
    for (const auto& [name, tensor] : input.tensors.entries()) {
      at::Tensor leaf = tensor.detach();
      if (leaf.is_floating_point()) {
        leaf = leaf.clone().requires_grad_(true);
        leaves_.push_back(leaf);
      }
      in_ = in_.with(name, leaf);
    }
    for (gan::Parameter& parameter : network.block(index).parameters()) {
      weights_.push_back(parameter.tensor);
      num_weights_ += parameter.tensor.numel();
    }
  }

  [[nodiscard]] plan::BlockCost measured(double seconds) {
    plan::BlockCost cost{.network = network_.name(),
                         .block = static_cast<int>(index_),
                         .forward = timed(
                             time_, [this] { (void)forward(); }, seconds),
                         .parameters = num_weights_};
    measure_memory(cost);
    const std::vector<at::Tensor> made = made_by(forward());
    std::vector<at::Tensor> both = leaves_;
    both.insert(both.end(), weights_.begin(), weights_.end());
    cost.input_gradient = backward(made, leaves_, seconds);
    const plan::Timing all = backward(made, both, seconds);
    if (!weights_.empty()) {
      cost.weight_gradient = {.seconds = std::max(0.0, all.seconds - cost.input_gradient.seconds),
                              .scatter = all.scatter};
    }
    return cost;
  }

 private:
  [[nodiscard]] gan::NamedTensors forward() {
    return network_.forward_block(index_, in_, context_);
  }
  /// Returns the block's own outputs, without inputs that it passes through.
  [[nodiscard]] std::vector<at::Tensor> made_by(const gan::NamedTensors& out) const {
    std::vector<at::Tensor> made;
    for (const auto& [name, tensor] : out.entries()) {
      if (!in_.has(name) || !in_.at(name).is_same(tensor)) {
        made.push_back(tensor);
      }
    }
    return made;
  }
  void measure_memory(plan::BlockCost& cost) {
    const LiveBytes live;
    const std::vector<at::Tensor> made = made_by(forward());
    cost.kept_bytes = std::max<std::int64_t>(0, live.now());
    for (const at::Tensor& tensor : made) {
      cost.output_bytes += static_cast<std::int64_t>(tensor.nbytes());
    }
  }
  [[nodiscard]] plan::Timing backward(const std::vector<at::Tensor>& made,
                                      const std::vector<at::Tensor>& wanted, double seconds) {
    std::vector<at::Tensor> roots;
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& tensor : made) {
      if (tensor.requires_grad()) {
        roots.push_back(tensor);
        gradients.push_back(at::ones_like(tensor));
      }
    }
    if (roots.empty() || wanted.empty()) {
      return {};
    }
    return timed(
        time_,
        [&] {
          (void)torch::autograd::grad(roots, wanted, gradients, /*retain_graph=*/true,
                                      /*create_graph=*/false, /*allow_unused=*/true);
        },
        seconds);
  }

  gan::Network& network_;
  std::size_t index_;
  gan::ForwardContext context_;
  DeviceTime& time_;
  gan::NamedTensors in_;
  std::vector<at::Tensor> leaves_;
  std::vector<at::Tensor> weights_;
  std::int64_t num_weights_ = 0;
};

}  // namespace

std::vector<plan::BlockCost> block_costs(OneWorker& worker, double seconds,
                                         const MeasuredSeconds& tell) {
  constexpr double kMeasurements = 3.0;  // per block
  const PerNetwork<worker::NetworkState*> networks = worker.networks();
  const PerNetwork<std::vector<std::optional<BlockInput>>> inputs = block_inputs(worker);
  std::vector<plan::BlockCost> costs;
  DeviceTime time(worker.device());
  for (const NetworkId id : networks.ids()) {
    for (std::size_t block = 0; block < inputs[id].size(); ++block) {
      if (inputs[id][block]) {
        costs.push_back(
            LoneBlock(networks[id]->network(), block, *inputs[id][block], time).measured(seconds));
      }
      tell(kMeasurements * seconds, "blocks");
    }
  }
  return costs;
}

}  // namespace gangway::launch
