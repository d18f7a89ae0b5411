// SPDX-License-Identifier: MIT
#include "launch/model/compute/layer_times.hpp"

#include <functional>
#include <utility>

#include <fmt/format.h>

#include "gan/blocks/build_networks.hpp"
#include "gan/blocks/layer_block.hpp"
#include "gan/precision.hpp"
#include "gan/random_tensors.hpp"
#include "job/families/families.hpp"
#include "launch/model/compute/core_peak.hpp"

namespace gangway::launch {
namespace {

using gan::LayerBlock;
using Map = std::function<at::Tensor(const at::Tensor&)>;

at::Tensor in_format(const JobSpec& job, const at::Tensor& x) {
  return job.numerics.memory_format == MemoryFormat::kChannelsLast && x.dim() == 4
             ? x.contiguous(at::MemoryFormat::ChannelsLast)
             : x;
}

std::string description(const LayerSpec& spec, const at::Tensor& y) {
  if (spec.kind == LayerKind::kLinear) {
    return fmt::format("dense {} > {}", spec.in, spec.out);
  }
  return fmt::format("{} {} > {} of {} x {}",
                     spec.kind == LayerKind::kConvolution ? "convolution" : "transposed", spec.in,
                     spec.out, y.size(2), y.size(3));
}

/// Counts two operations for each multiply-add.
double operations_of(const LayerSpec& spec, const at::Tensor& x, const at::Tensor& y) {
  const auto weights = static_cast<double>(spec.in * spec.out);
  const auto examples = static_cast<double>(x.size(0));
  if (spec.kind == LayerKind::kLinear) {
    return 2.0 * weights * examples;
  }
  const at::Tensor& small = spec.kind == LayerKind::kConvolution ? y : x;
  return 2.0 * weights * examples * static_cast<double>(spec.kernel * spec.kernel) *
         static_cast<double>(small.size(2) * small.size(3));
}

class LayerTimer {
 public:
  LayerTimer(const JobSpec& job, Precision precision, double seconds)
      : job_(job), precision_(precision), seconds_(seconds), networks_(gan::build_networks(job)) {}

  std::vector<LayerTime> run() {
    for (gan::Network& network : networks_) {
      network.initialise(job_.training.seed);
      for (const gan::Network::NamedParameter& named : network.parameters()) {
        at::Tensor& tensor = named.parameter->tensor;
        tensor.set_data(in_format(job_, tensor.detach()));
        tensor.mutable_grad() = at::zeros_like(tensor);
      }
      time_network(network);
    }
    return std::move(times_);
  }

 private:
  /// Makes any valid input of the network: the values are arbitrary but not zero.
  [[nodiscard]] gan::NamedTensors input_of(gan::Network& network) const {
    const std::int64_t examples = job_.images_per_microbatch();
    std::vector<std::int64_t> shape = example_shape(job_.model);
    shape.insert(shape.begin(), examples);
    const auto normal = [](at::IntArrayRef sizes) {
      return gan::keyed_normal({.seed = 1}, sizes, at::kCPU);
    };
    gan::NamedTensors in;
    for (const std::string& name : network.block(0).ports().inputs) {
      in = in.with(name, name == "noise" ? normal({examples, job_.model.inputs()})
                                         : in_format(job_, normal(shape)));
    }
    return in.with("labels", at::zeros({examples}, at::kLong));
  }

  [[nodiscard]] gan::ForwardContext context() const {
    return {.precision = precision_, .derivatives = gan::Derivatives::kFirst};
  }

  void time_network(gan::Network& network) {
    gan::NamedTensors current = input_of(network);
    for (std::size_t i = 0; i < network.num_blocks(); ++i) {
      layer_ = fmt::format("{}/{}", network.name(), i);
      if (auto* layer = dynamic_cast<LayerBlock*>(&network.block(i))) {
        time_layer(*layer, current);
      }
      const at::NoGradGuard no_grad;
      current = network.forward_block(i, current, context());
    }
  }

  void time_layer(LayerBlock& layer, const gan::NamedTensors& in) {
    const gan::ComputePrecision scope(precision_, at::kCPU);
    const at::Tensor x = layer.shaped_input(in).detach();
    at::Tensor y;
    {
      const at::NoGradGuard no_grad;
      y = layer.map(x, context());
    }
    LayerTime map{.what = description(layer.spec(), y),
                  .operations = operations_of(layer.spec(), x, y)};
    std::vector<at::Tensor> weights;
    for (const gan::Parameter& parameter : layer.parameters()) {
      if (parameter.name == "weight") {
        weights.push_back(parameter.tensor);
      }
    }
    time_parts(map, x, weights, [&](const at::Tensor& from) { return layer.map(from, context()); });
    const LayerSpec& spec = layer.spec();
    if (!spec.batch_norm && spec.activation == Activation::kNone) {
      return;
    }
    // A norm reads its input twice; an activation reads it once.
    LayerTime rest{.what = spec.batch_norm ? "norm and activation" : "activation",
                   .tensor_bytes = static_cast<std::int64_t>(y.nbytes()),
                   .tensors_moved = spec.batch_norm ? 3.0 : 2.0};
    time_parts(rest, y, {}, [&](const at::Tensor& from) {
      // Copies the input, because LayerBlock::finish may change it in place.
      return layer.finish(spec.batch_norm ? from : from.clone(), context());
    });
  }

  /// Times `map` at `x`: forward, and the gradients of `x` and of `weights`.
  void time_parts(LayerTime time, const at::Tensor& x, const std::vector<at::Tensor>& weights,
                  const Map& map) {
    time.layer = layer_;
    time.precision = precision_;
    const auto keep = [&](LayerPart part, const std::function<void()>& body) {
      time.part = part;
      time.seconds = least_seconds(seconds_, body);
      times_.push_back(time);
    };
    at::Tensor leaf = x.detach().requires_grad_(true);
    at::Tensor y;
    keep(LayerPart::kForward, [&] { y = map(leaf); });
    const at::Tensor gradient = at::ones_like(y);
    const auto pull = [&](const std::vector<at::Tensor>& wanted) {
      torch::autograd::backward({y}, {gradient}, /*retain_graph=*/true, /*create_graph=*/false,
                                wanted);
    };
    if (time.tensors_moved > 2.0) {
      time.tensors_moved = 5.0;  // input and its gradient, each read twice, and one write
    } else if (time.tensors_moved > 0.0) {
      time.tensors_moved = 3.0;
    }
    keep(LayerPart::kInputGradient, [&] {
      leaf.mutable_grad().reset();
      pull({leaf});
    });
    if (!weights.empty()) {
      keep(LayerPart::kWeightGradient, [&] { pull(weights); });
    }
  }

  const JobSpec& job_;
  Precision precision_;
  double seconds_;
  PerNetwork<gan::Network> networks_;
  std::string layer_;
  std::vector<LayerTime> times_;
};

}  // namespace

std::vector<LayerTime> layer_times(const JobSpec& job, Precision precision, double seconds) {
  return LayerTimer(job, precision, seconds).run();
}

}  // namespace gangway::launch
