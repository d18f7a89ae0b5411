// SPDX-License-Identifier: MIT
#include "launch/model/compute/layer_times.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gan/blocks/layer_block.hpp"
#include "gan/precision.hpp"
#include "launch/profile/block_inputs.hpp"
#include "launch/profile/one_worker.hpp"

namespace gangway::launch {
namespace {

using gan::LayerBlock;
using Tensors = std::vector<at::Tensor>;
using Map = std::function<Tensors()>;

constexpr int kFewestSteps = 5;
constexpr int kFewestCalls = 3;

double seconds_of(const std::function<void()>& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Work that a core does about as fast as it can. It runs in turns with the measured work, so both
/// have the same clock rate and load.
struct Yardstick {
  double amount = 0.0;  ///< of one run: operations of a product, or bytes read and written
  std::function<void()> run;
};

/// Calls the bodies in turns, for at least `seconds` each and at least three times, after a
/// warm-up. Returns the seconds of the fastest call of each.
std::vector<double> least_seconds(double seconds,
                                  const std::vector<std::function<void()>>& bodies) {
  for (const auto& body : bodies) {
    body();
  }
  std::vector<double> least(bodies.size(), std::numeric_limits<double>::max());
  double spent = 0.0;
  for (int call = 0; call < kFewestCalls || spent < seconds * static_cast<double>(bodies.size());
       ++call) {
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      const double taken = seconds_of(bodies[i]);
      least[i] = std::min(least[i], taken);
      spent += taken;
    }
  }
  return least;
}

/// Returns LibTorch's product of square matrices of this type, in the fastest of three sizes.
/// @param seconds  for each size
Yardstick plain_product(at::ScalarType type, double seconds) {
  std::vector<Yardstick> products;
  std::vector<std::function<void()>> runs;
  for (const std::int64_t size : {256, 512, 1024}) {
    const at::Tensor left = at::ones({size, size}, type);
    const at::Tensor right = at::ones({size, size}, type);
    const at::Tensor product = at::empty({size, size}, type);
    runs.emplace_back([=] {
      at::Tensor to = product;
      at::mm_out(to, left, right);
    });
    products.push_back({2.0 * static_cast<double>(size * size * size), runs.back()});
  }
  const std::vector<double> least = least_seconds(seconds, runs);
  std::size_t best = 0;
  for (std::size_t i = 1; i < products.size(); ++i) {
    if (products[i].amount / least[i] > products[best].amount / least[best]) {
      best = i;
    }
  }
  return products[best];
}

/// Returns a copy of `bytes`; reads and writes both count.
Yardstick plain_copy(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  const auto from = std::make_shared<std::vector<char>>(size, 1);
  const auto to = std::make_shared<std::vector<char>>(size);
  return {2.0 * static_cast<double>(bytes), [=] {
            std::memcpy(to->data(), from->data(), size);
            __asm__ volatile("" : : "r"(to->data()) : "memory");
          }};
}

std::string description(const LayerSpec& spec, const at::Tensor& y) {
  if (spec.kind == LayerKind::kLinear) {
    return fmt::format("dense {} > {}", spec.in, spec.out);
  }
  return fmt::format("{} {} > {} of {} x {}",
                     spec.kind == LayerKind::kConvolution ? "convolution" : "transposed", spec.in,
                     spec.out, y.size(2), y.size(3));
}

class LayerTimer {
 public:
  LayerTimer(OneWorker& worker, const Yardstick& product, double seconds)
      : worker_(worker), product_(product), seconds_(seconds) {}

  std::vector<LayerTime> run() {
    const PerNetwork<worker::NetworkState*> networks = worker_.networks();
    const PerNetwork<std::vector<std::optional<BlockInput>>> inputs = block_inputs(worker_);
    for (const NetworkId id : networks.ids()) {
      gan::Network& network = networks[id]->network();
      for (std::size_t i = 0; i < inputs[id].size(); ++i) {
        if (inputs[id][i]) {
          layer_ = fmt::format("{}/{}", network.name(), i);
          BlockInput input = *inputs[id][i];
          input.context.derivatives = gan::Derivatives::kFirst;
          auto* const layer = dynamic_cast<LayerBlock*>(&network.block(i));
          layer != nullptr ? time_layer(*layer, input) : time_block(network, i, input);
        }
      }
    }
    return std::move(times_);
  }

 private:
  void time_layer(LayerBlock& layer, const BlockInput& input) {
    const gan::ComputePrecision scope(input.context.precision, at::kCPU);
    at::Tensor x = layer.shaped_input(input.tensors).detach();
    at::Tensor y;
    {
      const at::NoGradGuard no_grad;
      y = layer.map(x, input.context);
    }
    Tensors weights;
    for (const gan::Parameter& parameter : layer.parameters()) {
      if (parameter.name == "weight") {
        weights.push_back(parameter.tensor);
      }
    }
    x.requires_grad_(true);
    time_parts({.what = description(layer.spec(), y)}, {x}, weights,
               [&] { return Tensors{layer.map(x, input.context)}; });
    const LayerSpec& spec = layer.spec();
    if (!spec.batch_norm && spec.activation == Activation::kNone) {
      return;
    }
    y = y.detach().requires_grad_(true);
    time_parts({.what = spec.batch_norm ? "norm and activation" : "activation",
                .tensor_bytes = static_cast<std::int64_t>(y.nbytes()),
                // A norm reads its input twice; an activation reads it once.
                .bytes = spec.batch_norm ? 3.0 : 2.0},
               {y}, {}, [&] {
                 // Copies the input, because LayerBlock::finish may change it in place.
                 return Tensors{layer.finish(spec.batch_norm ? y : y.clone(), input.context)};
               });
  }

  /// Times a block that is no LayerBlock as a whole.
  void time_block(gan::Network& network, std::size_t index, const BlockInput& input) {
    gan::NamedTensors in;
    Tensors leaves;
    for (const auto& [name, tensor] : input.tensors.entries()) {
      at::Tensor leaf = tensor.detach();
      if (leaf.is_floating_point()) {
        leaf = leaf.clone().requires_grad_(true);
        leaves.push_back(leaf);
      }
      in = in.with(name, leaf);
    }
    Tensors weights;
    for (const gan::Parameter& parameter : network.block(index).parameters()) {
      weights.push_back(parameter.tensor);
    }
    const auto forward = [&] {
      const gan::NamedTensors out = network.forward_block(index, in, input.context);
      Tensors made;
      for (const auto& [name, tensor] : out.entries()) {
        if (tensor.requires_grad() && !(in.has(name) && in.at(name).is_same(tensor))) {
          made.push_back(tensor);
        }
      }
      return made;
    };
    const Tensors made = forward();
    const std::string shape =
        made.empty() ? "" : fmt::format("{}", fmt::join(made.front().sizes().slice(1), " x "));
    time_parts({.what = fmt::format("block to {}", shape)}, leaves, weights, forward);
  }

  /// Times `map`: forward, and the gradients of `inputs` and of `weights`.
  void time_parts(LayerTime time, const Tensors& inputs, Tensors weights, const Map& map) {
    time.layer = layer_;
    const bool is_map = time.tensor_bytes == 0;
    Tensors made;
    keep(time, LayerPart::kForward, [&] { made = map(); });
    Tensors gradients;
    for (const at::Tensor& y : made) {
      gradients.push_back(at::ones_like(y));
    }
    if (!is_map) {  // input and its gradient, each read as often as in forward, and one write
      time.bytes = time.bytes > 2.0 ? 5.0 : 3.0;
    }
    const auto pull = [&](const Tensors& wanted) {
      torch::autograd::backward(made, gradients, /*retain_graph=*/true, /*create_graph=*/false,
                                wanted);
    };
    if (made.empty()) {
      return;
    }
    keep(time, LayerPart::kInputGradient, [&] {
      for (const at::Tensor& input : inputs) {
        input.mutable_grad().reset();
      }
      pull(inputs);
    });
    std::erase_if(weights, [](const at::Tensor& weight) { return !weight.requires_grad(); });
    if (!weights.empty()) {
      keep(time, LayerPart::kWeightGradient, [&] { pull(weights); });
    }
  }

  /// Times one part beside its yardstick. Blocks without a product are left out.
  void keep(LayerTime time, LayerPart part, const std::function<void()>& body) {
    time.part = part;
    if (time.tensor_bytes == 0) {
      const OperatorWatch watch;
      body();
      time.operations = watch.sums().operations;
      time.bytes = watch.sums().bytes;
      if (time.operations == 0.0) {
        return;
      }
    } else {
      time.bytes *= static_cast<double>(time.tensor_bytes);
    }
    const Yardstick yardstick = time.tensor_bytes == 0 ? product_ : plain_copy(time.tensor_bytes);
    const std::vector<double> least = least_seconds(seconds_, {body, yardstick.run});
    time.seconds = least[0];
    time.limit = yardstick.amount / least[1];
    times_.push_back(time);
  }

  OneWorker& worker_;
  const Yardstick& product_;
  double seconds_;
  std::string layer_;
  std::vector<LayerTime> times_;
};

StepTime step_time(OneWorker& worker, const Yardstick& product, double seconds) {
  StepTime best{.images = worker.job().training.batch,
                .seconds = std::numeric_limits<double>::max()};
  double spent = 0.0;
  for (int step = 0; step < kFewestSteps || spent < seconds; ++step) {
    const OperatorWatch watch;
    const double taken = worker.run_step();
    spent += taken;
    if (taken < best.seconds) {
      best.seconds = taken;
      best.sums = watch.sums();
    }
    best.limit = std::max(best.limit, product.amount / least_seconds(0.0, {product.run}).front());
  }
  return best;
}

}  // namespace

ComputeTimes compute_times(JobSpec job, Precision precision, double seconds) {
  job.numerics.threads = 1;
  for (NetworkSpec& network : job.networks) {
    network.precision = precision;
  }
  const Yardstick product =
      plain_product(precision == Precision::kBf16 ? at::kBFloat16 : at::kFloat, seconds);
  OneWorker worker(job, std::make_unique<worker::CpuDevice>(job));
  (void)worker.run_step();  // the first one allocates
  const StepTime step = step_time(worker, product, seconds);
  return {
      .precision = precision, .layers = LayerTimer(worker, product, seconds).run(), .step = step};
}

}  // namespace gangway::launch
