// SPDX-License-Identifier: MIT
// Computes primitives by LibTorch, and compares them with the networks that they describe.
#include "job/primitives/primitives.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gan/blocks/build_networks.hpp"
#include "gan/graph_values.hpp"
#include "gan/random_tensors.hpp"
#include "job/file/parse.hpp"
#include "tests/gan/network_values.hpp"

namespace gangway {
namespace {

using Tensors = std::vector<at::Tensor>;

constexpr std::int64_t kImages = 17'000;  // shown images: growing networks are within a fade

/// Computes a primitive of maps. @param in  its inputs
at::Tensor of_maps(const Primitive& primitive, const Tensors& in) {
  const Window& w = primitive.window;
  const std::optional<at::Tensor> bias = in.size() > 2 ? std::optional(in[2]) : std::nullopt;
  const at::Tensor& x = in.front();
  switch (primitive.operation) {
    case Operation::kConvolution:
      return at::conv2d(x, in[1], bias, w.stride, w.padding, 1, w.groups);
    case Operation::kTransposedConvolution:
      return at::conv_transpose2d(x, in[1], bias, w.stride, w.padding, w.output_padding, w.groups);
    case Operation::kAveragePooling:
      return at::avg_pool2d(x, w.kernel);
    case Operation::kMaximumPooling:
      return at::max_pool2d(x, w.kernel);
    case Operation::kRepetition:
      return x.repeat_interleave(w.stride, 2).repeat_interleave(w.stride, 3);
    case Operation::kReflection:
      return at::reflection_pad2d(x, {w.padding, w.padding, w.padding, w.padding});
    case Operation::kInstanceNorm:
      return at::instance_norm(x, in[1], in[2], {}, {}, true, 0.1, primitive.number, false);
    default: {  // kGroupDeviation
      std::int64_t group = w.groups == 0 ? x.size(0) : std::min(w.groups, x.size(0));
      for (; x.size(0) % group != 0; --group) {
      }
      const at::Tensor groups = x.reshape({group, -1, x.size(1), x.size(2), x.size(3)});
      const at::Tensor deviation =
          (groups.var(0, /*unbiased=*/false) + primitive.number).sqrt().mean({1, 2, 3});
      return deviation.reshape({-1, 1, 1, 1}).repeat({group, 1, x.size(2), x.size(3)});
    }
  }
}

at::Tensor along(const Primitive& primitive, const Tensors& in) {
  const at::Tensor& x = in.front();
  const std::int64_t axis = primitive.axes.front();
  switch (primitive.operation) {
    case Operation::kMean:
      return x.mean(primitive.axes, /*keepdim=*/true);
    case Operation::kSum:
      return x.sum(primitive.axes, /*keepdim=*/true);
    case Operation::kSoftmax:
      return x.softmax(axis);
    case Operation::kConcatenation:
      return at::cat(in, axis);
    case Operation::kSlice:
      return x.slice(axis, primitive.begin, primitive.end);
    case Operation::kZerosInFront:
      return at::cat({at::zeros_like(x.narrow(axis, 0, primitive.begin)), x}, axis);
    case Operation::kTransposition:
      return x.permute(primitive.axes);
    default: {  // kReshape
      Shape shape = primitive.axes;
      shape.insert(shape.begin(), x.size(0));
      return x.reshape(shape);
    }
  }
}

at::Tensor computed(const Primitive& primitive, const Tensors& in) {
  const at::Tensor& x = in.front();
  switch (primitive.operation) {
    case Operation::kAdd:
      return x + in[1];
    case Operation::kSubtract:
      return x - in[1];
    case Operation::kMultiply:
      return x * in[1];
    case Operation::kDivide:
      return x / in[1];
    case Operation::kMatrixProduct:
      return x.matmul(in[1]);
    case Operation::kRelu:
      return x.relu();
    case Operation::kLeakyRelu:
      return at::leaky_relu(x, primitive.number);
    case Operation::kSigmoid:
      return x.sigmoid();
    case Operation::kSoftplus:
      return at::softplus(x);
    case Operation::kTanh:
      return x.tanh();
    case Operation::kRoot:
      return (x + primitive.number).sqrt();
    case Operation::kLookup:
      return x.index_select(0, in[1]);
    default:
      return primitive.axes.empty() ? of_maps(primitive, in) : along(primitive, in);
  }
}

Tensors outputs_of(const PrimitiveGraph& graph, const gan::NamedTensors& inputs) {
  Tensors all;
  for (const GraphTensor& tensor : graph.tensors) {
    all.push_back(tensor.is_constant && !tensor.values.empty()
                      ? at::tensor(tensor.values).reshape(tensor.shape)
                      : at::Tensor());
  }
  for (const std::size_t input : graph.inputs) {
    all[input] = inputs.at(graph.tensors[input].name);
  }
  for (const Primitive& primitive : graph.primitives) {
    Tensors in;
    for (const std::size_t input : primitive.inputs) {
      in.push_back(all[input]);
    }
    all[primitive.output] = computed(primitive, in);
    Shape shape = all[primitive.output].sizes().vec();
    shape.front() = shape.empty() ? 1 : graph.tensors[primitive.output].shape.front();
    EXPECT_EQ(shape, graph.tensors[primitive.output].shape);
  }
  Tensors outputs;
  for (const std::size_t output : graph.outputs) {
    outputs.push_back(all[output]);
  }
  return outputs;
}

class Primitives : public ::testing::TestWithParam<const char*> {};

TEST_P(Primitives, ComputeWhatTheNetworksDo) {
  const JobSpec job = parse_job(GetParam(), "test job");
  const PerNetwork<Architecture> architectures = job.architectures();
  PerNetwork<gan::Network> networks = gan::build_networks(job);
  const at::NoGradGuard no_grad;
  for (const NetworkId id : networks.ids()) {
    testing::fill(networks[id], job, kImages);
    const PrimitiveGraph graph =
        primitives_of(architectures[id], job.settled_model(), networks[id].growth(),
                      gan::graph_values(networks[id]));
    for (const std::int64_t examples : {1, 3, 8}) {
      gan::NamedTensors in{
          {"labels", at::arange(examples).remainder(std::max(1, job.model.classes))}};
      for (const std::size_t input : graph.inputs) {
        const GraphTensor& tensor = graph.tensors[input];
        if (tensor.name != "labels") {
          Shape shape = tensor.shape;
          shape.front() = examples;
          in = in.with(tensor.name, gan::keyed_normal({.seed = 2}, shape, at::kCPU));
        }
      }
      const Tensors expected = networks[id].forward_levels(in, {.mode = gan::Mode::kEvaluation});
      const Tensors made = outputs_of(graph, in);
      ASSERT_EQ(made.size(), expected.size());
      for (std::size_t level = 0; level < made.size(); ++level) {
        EXPECT_EQ(made[level].sizes(), expected[level].sizes());
        const float largest = expected[level].abs().max().item<float>();
        EXPECT_GT(largest, 0.0F) << networks[id].name();
        // The second term: a label's product with the features is small where its terms cancel.
        EXPECT_LE((made[level] - expected[level]).abs().max().item<float>(),
                  1e-5F * largest + 1e-6F)
            << networks[id].name() << ", batch " << examples;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Families, Primitives,
    ::testing::Values(
        "model: {family: dcgan, width: 8, latent: 16}\n",
        "model: {family: dcgan, width: 8, latent: 16, classes: 10, channels: 3}\n"
        "data: {source: 'images:x'}\n",
        "model: {family: dense, width: 8, latent: 16, classes: 10}\n",
        "model: {family: infogan, width: 8, latent: 16}\n",
        "model: {family: infogan, width: 8, latent: 16, classes: 10}\n"
        "training: {r1: {gamma: 1}}\n",
        "model: {family: mlp, width: 8, latent: 2, activation: softplus}\n"
        "data: {source: 'toy:ring8'}\n",
        "model: {family: gat, width: 64, latent: 8, patch: 8, blocks: 3}\n",
        "model: {family: gat, width: 12, latent: 8, blocks: 1, resolution: 64, classes: 10, "
        "channels: 3}\ndata: {source: 'images:x'}\n",
        "model: {family: biggan, width: 4, latent: 8, attention: 16}\n",
        "model: {family: biggan, width: 2, latent: 13, resolution: 64, attention: 16, classes: 10, "
        "channels: 3}\ndata: {source: 'images:x'}\n",
        "model: {family: biggan, width: 2, latent: 13, classes: 10, conditioning: separate}\n",
        "model: {family: stylegan2, width: 4, latent: 8, mapping_layers: 2}\n",
        "model: {family: stylegan2, width: 2, latent: 8, resolution: 64, classes: 10, channels: 3, "
        "discriminator_residual: false, stored_noise: true}\ndata: {source: 'images:x'}\n",
        "model: {family: progressive, width: 8, latent: 8}\n",
        "model: {family: progressive, width: 8, latent: 8, classes: 10}\n"
        "training: {growth: {from: 32}}\n",
        "model: {family: r3gan, width: 16, latent: 8, blocks: 1}\n",
        "model: {family: r3gan, width: 8, latent: 8, blocks: 1, resolution: 64, classes: 10, "
        "channels: 3}\ndata: {source: 'images:x'}\n",
        "model: {family: unet, width: 4, resolution: 64}\ntraining: {recipe: pix2pix}\n"
        "data: {source: 'edges:fashion-mnist'}\n",
        "model: {family: cyclegan, width: 4, resolution: 64, blocks: 2}\n"
        "training: {recipe: cyclegan}\ndata: {source: 'classes:fashion-mnist:5,7'}\n",
        "model: {family: johnson, width: 4, blocks: 2, channels: 3}\n"
        "training: {recipe: style-transfer, style: {picture: x.png}}\n"
        "features: {weights: w.safetensors}\ndata: {source: 'images:x'}\n"));

}  // namespace
}  // namespace gangway
