// SPDX-License-Identifier: MIT
#include "gan/evaluation/train_features.hpp"

#include <algorithm>

#include "data/permutation.hpp"
#include "gan/optimizer.hpp"

namespace gangway::gan {
namespace {

struct LabelledImages {
  at::Tensor images;  // [N, 1, 28, 28]
  at::Tensor labels;  // [N], int64
};

template <typename IndexOf>
LabelledImages read_labelled(const data::Dataset& dataset, std::int64_t first, std::int64_t count,
                             const IndexOf& index_of) {
  const data::ExampleShape shape = dataset.shape();
  LabelledImages result{at::empty({count, shape.channels, shape.height, shape.width}, at::kFloat),
                        at::empty({count}, at::kLong)};
  auto* pixels = result.images.mutable_data_ptr<float>();
  auto* labels = result.labels.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < count; ++i) {
    labels[i] =
        dataset.read(index_of(first + i),
                     {pixels + static_cast<std::size_t>(i) * shape.elements(), shape.elements()});
  }
  return result;
}

/// Runs Adam over all tensors of a network, each as its own slice.
class FeatureOptimizer {
 public:
  FeatureOptimizer(LeNet& lenet, double lr)
      : settings_{.kind = OptimizerKind::kAdam, .lr = lr, .betas = {0.9, 0.999}} {
    for (const Network::NamedParameter& named : lenet.parameters()) {
      const auto elements = static_cast<std::size_t>(named.parameter->tensor.numel());
      states_.push_back(
          {named.parameter->tensor, std::vector<float>(elements), std::vector<float>(elements)});
    }
  }

  /// Applies the gradients and clears them.
  void step() {
    ++updates_;
    for (State& state : states_) {
      const at::Tensor gradient = state.tensor.grad().contiguous();
      const std::size_t elements = state.first.size();
      optimizer_step(settings_, updates_,
                     {.weights = {state.tensor.mutable_data_ptr<float>(), elements},
                      .gradient = {gradient.const_data_ptr<float>(), elements},
                      .moments = {state.first, state.second}});
      state.tensor.mutable_grad().reset();
    }
  }

 private:
  struct State {
    at::Tensor tensor;
    std::vector<float> first;
    std::vector<float> second;
  };
  OptimizerSpec settings_;
  std::vector<State> states_;
  std::int64_t updates_ = 0;
};

}  // namespace

void train_features(LeNet& lenet, const data::Dataset& train, const FeatureRecipe& recipe,
                    const std::function<void(std::int64_t, double)>& report) {
  lenet.initialise(recipe.seed);
  FeatureOptimizer optimizer(lenet, recipe.lr);
  const data::SampleOrder order(recipe.seed, train.size());
  const std::int64_t total = train.size() * recipe.epochs / recipe.batch * recipe.batch;
  for (std::int64_t first = 0; first < total; first += recipe.batch) {
    const LabelledImages batch =
        read_labelled(train, first, recipe.batch,
                      [&](std::int64_t cursor) { return order.dataset_index(cursor); });
    const at::Tensor loss = at::cross_entropy_loss(
        lenet.logits(lenet.features(lenet_input(batch.images))), batch.labels);
    loss.backward();
    optimizer.step();
    report(first + recipe.batch, loss.item<double>());
  }
}

double accuracy(LeNet& lenet, const data::Dataset& test) {
  constexpr std::int64_t kBatch = 500;
  const at::NoGradGuard no_grad;
  std::int64_t right = 0;
  for (std::int64_t first = 0; first < test.size(); first += kBatch) {
    const LabelledImages batch = read_labelled(test, first, std::min(kBatch, test.size() - first),
                                               [](std::int64_t i) { return i; });
    const at::Tensor guess = lenet.logits(lenet.features(lenet_input(batch.images))).argmax(1);
    right += guess.eq(batch.labels).sum().item<std::int64_t>();
  }
  return static_cast<double>(right) / static_cast<double>(test.size());
}

}  // namespace gangway::gan
