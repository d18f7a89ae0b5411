// SPDX-License-Identifier: MIT
#include "launch/profile/block_inputs.hpp"

#include <map>
#include <string>
#include <utility>
#include <variant>

#include "gan/grown_pictures.hpp"
#include "gan/losses/joins.hpp"
#include "worker/pass/draws.hpp"

namespace gangway::launch {
namespace {

using Inputs = PerNetwork<std::vector<std::optional<BlockInput>>>;

/// Makes the tensors of one pass, node by node.
class PassForward {
 public:
  PassForward(OneWorker& worker, const pipeline::Pass& pass, Inputs& seen)
      : worker_(worker), pass_(pass), seen_(seen) {}

  void run() {
    for (const pipeline::Node& node : pass_.nodes) {
      std::visit([this](const auto& at_hand) { make(at_hand); }, node);
    }
  }

 private:
  void make(const pipeline::Draw& draw) {
    tensors_[draw.output] = worker::drawn(draw, {.draw = 0},
                                          {.job = worker_.job(),
                                           .dimensions = worker_.num_dimensions(),
                                           .device = worker_.device().device()});
  }
  void make(const pipeline::Reals& reals) {
    const worker::RealBatch& batch = worker_.real_batch();
    tensors_[reals.images] = gan::as_grown(batch.images, growth());
    tensors_[reals.labels] = batch.labels;
  }
  void make(const pipeline::Running& running) {
    tensors_[running.output] = at::zeros({1}, worker_.device().device());
  }
  void make(const pipeline::StylePicture& picture) {
    tensors_[picture.output] = at::zeros_like(worker_.real_batch().images.narrow(0, 0, 1));
  }
  void make(const pipeline::Join& join) {
    std::vector<at::Tensor> inputs;
    for (const std::string& input : join.inputs) {
      inputs.push_back(tensors_.at(input));
    }
    tensors_[join.output] = gan::join_named(join.function)(inputs);
  }
  // Pooled examples have the same shapes.
  void make(const pipeline::Pool& pool) { tensors_[pool.output] = tensors_.at(pool.input); }
  void make(const pipeline::Augment& augment) {
    tensors_[augment.output] = tensors_.at(augment.input);
  }
  void make(const pipeline::Loss&) {}
  void make(const pipeline::Shown&) {}
  void make(const pipeline::Penalty& penalty) { look(penalty.network, taken(penalty.inputs)); }
  void make(const pipeline::Application& application) {
    if (!application.method.empty()) {
      return;  // the job's own step calls all networks with its own inputs
    }
    const gan::NamedTensors in = taken(application.inputs);
    look(application.network, in);
    const std::vector<std::string> names = pipeline::outputs_of(application);
    const std::vector<at::Tensor> made =
        network(application.network).forward_levels(in, context(application.network));
    for (std::size_t i = 0; i < names.size() && i < made.size(); ++i) {
      tensors_[names[i]] = made[i].detach();
    }
  }

  /// Records the inputs of the blocks of `id`, unless they are known.
  void look(NetworkId id, gan::NamedTensors in) {
    if (!seen_[id].empty() && seen_[id].front()) {
      return;
    }
    for (std::size_t block = 0; block < seen_[id].size(); ++block) {
      seen_[id][block] = BlockInput{in, context(id)};
      in = network(id).forward_block(block, in, context(id));
    }
  }
  [[nodiscard]] gan::NamedTensors taken(const std::vector<pipeline::Input>& inputs) const {
    gan::NamedTensors tensors;
    for (const pipeline::Input& input : inputs) {
      tensors = tensors.with(input.name, tensors_.at(input.tensor));
    }
    return tensors;
  }
  [[nodiscard]] gan::ForwardContext context(NetworkId id) const {
    const NetworkSpec& spec = worker_.job().networks[id];
    return {.mode = spec.is_frozen ? gan::Mode::kEvaluation : gan::Mode::kTraining,
            .precision = spec.precision};
  }
  [[nodiscard]] gan::Network& network(NetworkId id) { return worker_.networks()[id]->network(); }
  [[nodiscard]] double growth() { return network(NetworkId{0}).growth(); }

  OneWorker& worker_;
  const pipeline::Pass& pass_;
  Inputs& seen_;
  std::map<std::string, at::Tensor> tensors_;
};

}  // namespace

Inputs block_inputs(OneWorker& worker) {
  const at::NoGradGuard no_grad;
  Inputs seen;
  for (worker::NetworkState* network : worker.networks()) {
    seen.add(std::vector<std::optional<BlockInput>>(network->network().num_blocks()));
  }
  for (const pipeline::Phase& phase : worker.phases()) {
    for (const pipeline::Pass& pass : phase.passes) {
      PassForward(worker, pass, seen).run();
    }
  }
  return seen;
}

}  // namespace gangway::launch
