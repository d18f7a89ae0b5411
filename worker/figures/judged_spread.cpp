// SPDX-License-Identifier: MIT
#include "worker/figures/judged_spread.hpp"

#include <algorithm>
#include <variant>

namespace gangway::worker {
namespace {

/// Name of a discriminator's input of examples.
constexpr const char* kJudgedInput = "image";

const pipeline::Node* maker_of(const pipeline::Pass& pass, const std::string& tensor) {
  const auto found = std::ranges::find_if(pass.nodes, [&](const pipeline::Node& node) {
    return std::ranges::count(pipeline::outputs_of(node), tensor) > 0;
  });
  return found == pass.nodes.end() ? nullptr : &*found;
}

/// Returns whether the node alters its last input or pairs it with another; a side of a pair is an
/// example of its own.
bool shows_its_last(const pipeline::Node& node) {
  const auto* join = std::get_if<pipeline::Join>(&node);
  return std::holds_alternative<pipeline::Augment>(node) ||
         std::holds_alternative<pipeline::Pool>(node) ||
         (join != nullptr && (join->inputs.size() > 1 || join->function == pipeline::kDetached));
}

}  // namespace

std::string judged_examples(const pipeline::Pass& pass, const JudgedLogits& judged,
                            const Job& job) {
  const pipeline::Node* maker = maker_of(pass, judged.tensor);
  const auto* application = maker == nullptr ? nullptr : std::get_if<pipeline::Application>(maker);
  if (job.training.divergence.diversity == 0.0 || application == nullptr) {
    return {};
  }
  const auto input =
      std::ranges::find(application->inputs, std::string(kJudgedInput), &pipeline::Input::name);
  std::string tensor = input == application->inputs.end() ? std::string() : input->tensor;
  for (maker = maker_of(pass, tensor); maker != nullptr && shows_its_last(*maker);
       maker = maker_of(pass, tensor)) {
    tensor = pipeline::inputs_of(*maker).back();
  }
  return tensor;
}

std::string spread_figure(const JudgedLogits& judged) {
  return gangway::spread_figure(judged.network, judged.origin == JudgedLogits::Origin::kReal
                                                    ? ExampleOrigin::kReal
                                                    : ExampleOrigin::kGenerated);
}

at::Tensor spread_of(const at::Tensor& examples) {
  const at::NoGradGuard no_grad;
  const at::Tensor values = examples.detach().to(at::kFloat);
  return (values - values.roll(1, 0)).square().mean();
}

}  // namespace gangway::worker
