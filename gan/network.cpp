// SPDX-License-Identifier: MIT
#include "gan/network.hpp"

#include "gan/random_tensors.hpp"

namespace gangway::gan {

Network::Network(std::string name, std::vector<std::unique_ptr<Block>> blocks, std::string output)
    : name_(std::move(name)), blocks_(std::move(blocks)), output_(std::move(output)) {}

NamedTensors Network::forward_block(std::size_t index, const NamedTensors& in,
                                    ForwardContext context) {
  context.key.block = static_cast<std::int32_t>(index);
  return blocks_[index]->forward(in, context);
}

at::Tensor Network::forward(NamedTensors in, const ForwardContext& context) {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    in = forward_block(i, in, context);
  }
  return in.at(output_);
}

std::vector<Network::NamedParameter> Network::parameters() {
  std::vector<NamedParameter> result;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    for (Parameter& parameter : blocks_[i]->parameters()) {
      result.push_back({name_ + "/" + std::to_string(i) + "/" + parameter.name, &parameter});
    }
  }
  return result;
}

std::vector<Network::NamedStatistic> Network::statistics() {
  std::vector<NamedStatistic> result;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    for (Statistic& statistic : blocks_[i]->statistics()) {
      result.push_back({name_ + "/" + std::to_string(i) + "/" + statistic.name, &statistic});
    }
  }
  return result;
}

at::Device Network::device() { return parameters().front().parameter->tensor.device(); }

void Network::initialise(std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  std::int32_t position = 0;
  for (const NamedParameter& named : parameters()) {
    Parameter& parameter = *named.parameter;
    const RandomKey key{.seed = seed,
                        .phase = kPhaseInitialisation,
                        .repeat = name_ == "generator" ? 0 : 1,
                        .block = position++,
                        .draw = static_cast<std::int32_t>(RandomDraw::kWeight)};
    if (parameter.initial == Initial::kZero) {
      parameter.tensor.zero_();
      continue;
    }
    const double mean = parameter.initial == Initial::kOnePlusNormal ? 1.0 : 0.0;
    parameter.tensor.copy_(keyed_normal(key, parameter.tensor.sizes(), at::kCPU)
                               .mul_(parameter.initial_scale)
                               .add_(mean));
  }
  for (const NamedStatistic& named : statistics()) {
    named.statistic->running.fill_(named.statistic->initial);
  }
}

}  // namespace gangway::gan
