// SPDX-License-Identifier: MIT
#include "gan/evaluation/truncation.hpp"

#include <numeric>
#include <variant>
#include <vector>

#include "job/families/families.hpp"

namespace gangway::gan {
namespace {

constexpr std::uint64_t kSeeds = 10'000;  // as in the authors' code
constexpr std::uint64_t kAtOnce = 1'000;

ForwardContext evaluation() { return {.mode = Mode::kEvaluation, .sink = nullptr, .key = {}}; }

}  // namespace

bool has_styles(const Job& job) {
  const std::vector<BlockSpec>& blocks = job.architectures()[job.shown_network()].blocks;
  return !blocks.empty() && std::holds_alternative<StyleMappingSpec>(blocks.front());
}

Truncation::Truncation(Network& generator, const ModelSpec& model)
    : generator_(generator), model_(model) {
  std::vector<std::uint64_t> seeds(kAtOnce);
  at::Tensor sum;
  for (std::uint64_t first = 0; first < kSeeds; first += kAtOnce) {
    std::iota(seeds.begin(), seeds.end(), first);
    const at::Tensor part = mapped(latents_of_seeds(model, seeds))
                                .at(kStyles)
                                .to(at::kDouble)
                                .sum(/*dim=*/0, /*keepdim=*/true);
    sum = sum.defined() ? sum + part : part;
  }
  mean_ = (sum / static_cast<double>(kSeeds)).to(at::kFloat);
}

NamedTensors Truncation::mapped(const Latents& latents) const {
  const at::NoGradGuard no_grad;
  const at::Device device = generator_.device();
  NamedTensors in{{"noise", latents.noise.to(device)}};
  if (model_.classes > 0) {
    in = in.with("labels", latents.labels.to(device));
  }
  return in.with(kStyles, generator_.forward_chunk({0, 1}, {kStyles}, in, evaluation()).front());
}

at::Tensor Truncation::generate(const Latents& latents, double psi) const {
  if (psi == 1.0) {
    return gan::generate(generator_, model_, latents);
  }
  const at::NoGradGuard no_grad;
  NamedTensors in = mapped(latents);
  const at::Tensor styles = in.at(kStyles);
  const at::Tensor mean = mean_.to(styles.scalar_type());
  in = in.with(kStyles, mean + psi * (styles - mean));
  const auto blocks = static_cast<int>(generator_.num_blocks());
  return generator_.forward_chunk({1, blocks}, {}, in, evaluation()).front().to(at::kCPU);
}

}  // namespace gangway::gan
