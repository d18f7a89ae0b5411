// SPDX-License-Identifier: MIT
#include "worker/pass/split_backward.hpp"

#include <functional>
#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace gangway::worker {
namespace {

/// Some layers: a function from inputs and weights to outputs.
struct Layers {
  std::string name;
  std::vector<at::Tensor> weights;
  std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)> make;
  std::vector<at::Tensor> inputs;
  bool reruns_layers = false;
};

at::Tensor leaf(std::vector<std::int64_t> shape) {
  return torch::randn(shape).requires_grad_(true);
}

Layers images() {
  const std::vector<at::Tensor> w{leaf({6, 3, 3, 3}), leaf({6}),          leaf({6}),
                                  leaf({6}),          leaf({6, 4, 4, 4}), leaf({5, 4 * 16 * 16})};
  return {"images",
          w,
          [w](const std::vector<at::Tensor>& in) {
            at::Tensor x = at::conv2d(in[0], w[0] * 0.5, w[1], 1, 1);
            x = at::batch_norm(x, w[2], w[3], {}, {}, true, 0.1, 1e-5, false);
            x = at::leaky_relu(x, 0.2);
            x = at::tanh(at::conv_transpose2d(x, w[4], {}, 2, 1));
            return std::vector<at::Tensor>{at::linear(x.flatten(1), w[5])};
          },
          {leaf({2, 3, 8, 8})}};
}

/// A weight is scaled by an input, as in StyleGAN2, and a constant comes from weights alone.
Layers styles() {
  const std::vector<at::Tensor> w{leaf({4, 4}), leaf({2, 4}), leaf({4, 3}), leaf({4})};
  return {"styles",
          w,
          [w](const std::vector<at::Tensor>& in) {
            const at::Tensor style = at::linear(in[1], w[2], w[3]);  // [2, 4]
            const at::Tensor scaled = w[0].unsqueeze(0) * style.unsqueeze(1);
            const at::Tensor made = at::bmm(scaled, w[1].unsqueeze(2)).squeeze(2);
            return std::vector<at::Tensor>{made * at::rsqrt(scaled.square().sum({2}) + 1.0) + in[0],
                                           style, in[1]};  // returned unchanged
          },
          {leaf({2, 4}), leaf({2, 3})}};
}

/// Spectral normalisation: several operations lie between a weight and its layer.
Layers normalised() {
  const std::vector<at::Tensor> w{leaf({4, 3}), leaf({2, 4})};
  return {"normalised",
          w,
          [w](const std::vector<at::Tensor>& in) {
            const at::Tensor x = at::relu(at::linear(in[0], w[0] / w[0].norm()));
            return std::vector<at::Tensor>{at::linear(x, w[1] / w[1].norm())};
          },
          {leaf({5, 3})}};
}

Layers shared() {
  const std::vector<at::Tensor> w{leaf({3, 3})};
  return {"shared",
          w,
          [w](const std::vector<at::Tensor>& in) {
            return std::vector<at::Tensor>{at::linear(at::tanh(at::linear(in[0], w[0])), w[0])};
          },
          {leaf({5, 3})},
          /*reruns_layers=*/true};
}

/// One output depends only on weights.
Layers weights_alone() {
  const std::vector<at::Tensor> w{leaf({3, 3}), leaf({4})};
  return {"weights alone",
          w,
          [w](const std::vector<at::Tensor>& in) {
            return std::vector<at::Tensor>{at::linear(in[0], w[0]), w[1].exp()};
          },
          {leaf({5, 3})}};
}

std::vector<at::Tensor> zeroed_gradients(const std::vector<at::Tensor>& leaves) {
  std::vector<at::Tensor> gradients;
  for (at::Tensor one : leaves) {
    one.mutable_grad() = at::full_like(one, 0.125);  // backward adds to it
    gradients.push_back(one.grad());
  }
  return gradients;
}

void expect_bits_of_one_go(const Layers& layers) {
  SCOPED_TRACE(layers.name);
  const std::vector<at::Tensor> once = layers.make(layers.inputs);
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& output : once) {
    gradients.push_back(torch::randn_like(output));
  }
  std::vector<at::Tensor> of_weights = zeroed_gradients(layers.weights);
  std::vector<at::Tensor> of_inputs = zeroed_gradients(layers.inputs);
  torch::autograd::backward(once, gradients);

  const std::vector<at::Tensor> split_of_weights = zeroed_gradients(layers.weights);
  const std::vector<at::Tensor> split_of_inputs = zeroed_gradients(layers.inputs);
  SplitBackward split(layers.make(layers.inputs), gradients, layers.inputs);
  EXPECT_EQ(split.reruns_layers(), layers.reruns_layers);
  for (std::size_t i = 0; i < of_inputs.size(); ++i) {
    EXPECT_TRUE(at::equal(split_of_inputs[i], of_inputs[i])) << "input " << i;
  }
  for (const at::Tensor& one : split_of_weights) {
    EXPECT_TRUE(at::equal(one, at::full_like(one, 0.125))) << "nothing is added to it yet";
  }
  std::move(split).finish();
  for (std::size_t i = 0; i < of_weights.size(); ++i) {
    EXPECT_TRUE(at::equal(split_of_weights[i], of_weights[i])) << "weight " << i;
  }
  for (std::size_t i = 0; i < of_inputs.size(); ++i) {
    EXPECT_TRUE(at::equal(split_of_inputs[i], of_inputs[i])) << "input " << i << ", at the end";
  }
}

TEST(SplitBackward, GivesTheBitsOfOneGo) {
  torch::manual_seed(3);
  for (const Layers& layers : {images(), styles(), normalised(), shared(), weights_alone()}) {
    expect_bits_of_one_go(layers);
  }
}

TEST(SplitBackward, GoesThroughNoLayerTwice) {
  torch::manual_seed(3);
  int calls = 0;
  struct Count final : torch::autograd::FunctionPreHook {
    explicit Count(int& of) : count(of) {}
    torch::autograd::variable_list operator()(
        const torch::autograd::variable_list& gradients) override {
      ++count;
      return gradients;
    }
    int& count;
  };
  const at::Tensor x = leaf({2, 3});
  const at::Tensor w = leaf({4, 3});
  const at::Tensor activation = at::tanh(at::linear(x, w));
  activation.grad_fn()->add_pre_hook(std::make_unique<Count>(calls));
  SplitBackward split({activation}, {torch::ones_like(activation)}, {x});
  std::move(split).finish();
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(w.grad().defined());
}

TEST(SplitBackward, OfWhatTookNothingIsAllSecond) {
  torch::manual_seed(3);
  const at::Tensor w = leaf({4});
  const at::Tensor made = w.exp();
  SplitBackward split({made}, {torch::ones_like(made)}, {});
  EXPECT_FALSE(w.grad().defined());
  std::move(split).finish();
  EXPECT_TRUE(at::equal(w.grad(), made));
}

}  // namespace
}  // namespace gangway::worker
