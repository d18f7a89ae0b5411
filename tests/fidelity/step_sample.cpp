// SPDX-License-Identifier: MIT
// Trains a job step by step, and writes the inputs of tests/gan/steps_reference.py. They are the
// state after each step, and the draws and data of every pass.
//
//   step_sample FOLDER STEPS JOB_TEXT      writes FOLDER/sample.safetensors
//
// Draws are repeated from their keys, without access to a worker. Names are state/STEP/TENSOR and
// STEP/PHASE/REPEAT/PASS/MICROBATCH/WHAT.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "checkpoint/format/safetensors.hpp"
#include "checkpoint/format/weights_file.hpp"
#include "data/open_dataset.hpp"
#include "data/permutation.hpp"
#include "gan/augment/drawn_augmentation.hpp"
#include "gan/blocks/build_networks.hpp"
#include "gan/random_tensors.hpp"
#include "gan/recipes/recipes.hpp"
#include "job/augmentation.hpp"
#include "job/families/families.hpp"
#include "job/file/parse.hpp"
#include "pipeline/phases.hpp"
#include "tests/fidelity/small_jobs.hpp"
#include "tests/fidelity/training_run.hpp"
#include "tests/gan/sample_tensors.hpp"

namespace {

using namespace gangway;
using testing::SampleTensors;

/// Collects the draws and data of passes, in the order of a step.
class StepDraws {
 public:
  StepDraws(const JobSpec& job, SampleTensors& sample)
      : job_(job),
        sample_(sample),
        phases_(gan::phases_of(job)),
        blocks_(job.architectures()[job.id_of("generator")].blocks),
        dataset_(data::open_dataset(job.data, job.model, job.training.seed)) {}

  void add_step(std::int64_t step) {
    step_ = step;
    for (const pipeline::Phase& phase : phases_) {
      for (int repeat = 0; pipeline::runs_in(phase, step) && repeat < phase.repeats; ++repeat) {
        batch_ = phase.takes_reals ? phase.first_reals + repeat : batch_;
        add_repeat(phase, repeat);
      }
    }
  }

 private:
  void add_repeat(const pipeline::Phase& phase, int repeat);
  void add(const pipeline::Draw& draw);
  void add(const pipeline::Reals& reals);
  void add(const pipeline::Augment& augment);
  void add(const pipeline::Application& application);
  void add(const pipeline::Penalty& penalty);
  template <typename Node>
  void add(const Node&) {}  // neither draws nor reads
  void add_styles();
  void put_if_taken(const std::string& what, const at::Tensor& tensor);
  [[nodiscard]] at::Tensor labels_of_data(RandomKey key) const;

  /// Returns a key of the pass, as PassRun::key does.
  [[nodiscard]] RandomKey key(RandomDraw draw, int stream = 0) const {
    RandomKey of_draw = place_;
    of_draw.pass += stream << 16;
    of_draw.draw = static_cast<std::int32_t>(draw);
    return of_draw;
  }
  /// Returns a key of a block of the generator, as forward_context and Network::forward_block do.
  [[nodiscard]] RandomKey inner_key(RandomDraw draw, std::size_t block = 0) const {
    RandomKey of_draw = key(draw);
    of_draw.pass *= 2;
    of_draw.block = static_cast<std::int32_t>(block);
    return of_draw;
  }
  void put(const std::string& what, const at::Tensor& tensor) {
    sample_.add(prefix_ + what, tensor);
  }

  const JobSpec& job_;
  SampleTensors& sample_;
  std::vector<pipeline::Phase> phases_;
  std::vector<BlockSpec> blocks_;  // of the generator
  std::unique_ptr<data::Dataset> dataset_;
  std::int64_t step_ = 0;
  int batch_ = 0;                         // number of the last batch of real examples in the step
  const pipeline::Pass* pass_ = nullptr;  // current pass
  RandomKey place_;                       // its place
  std::string prefix_;                    // prefix of its names
  std::int64_t count_ = 0;                // number of its generated examples
};

void StepDraws::add_repeat(const pipeline::Phase& phase, int repeat) {
  for (int microbatch = 0; microbatch < job_.training.microbatches; ++microbatch) {
    for (std::size_t pass = 0; pass < phase.passes.size(); ++pass) {
      place_ = {.seed = job_.training.seed,
                .step = step_,
                .phase = phase.index,
                .repeat = repeat,
                .pass = static_cast<std::int32_t>(pass),
                .microbatch = microbatch};
      pass_ = &phase.passes[pass];
      prefix_ = fmt::format("{}/{}/{}/{}/{}/", step_, phase.name, repeat, pass_->name, microbatch);
      for (const pipeline::Node& node : pass_->nodes) {
        std::visit([this](const auto& one) { add(one); }, node);
      }
    }
  }
}

void StepDraws::add(const pipeline::Draw& draw) {
  using Kind = pipeline::Draw::Kind;
  count_ = std::max(1, job_.images_per_microbatch() / draw.share);
  if (draw.kind == Kind::kNoise) {
    put(draw.output, gan::keyed_normal(key(RandomDraw::kNoise, draw.stream),
                                       {count_, job_.model.latent}, at::kCPU));
  } else if (draw.kind == Kind::kLabels) {
    put(draw.output, gan::keyed_labels(key(RandomDraw::kLabel, draw.stream), count_,
                                       job_.model.classes, at::kCPU));
  } else if (draw.kind == Kind::kDataLabels) {
    put(draw.output, labels_of_data(key(RandomDraw::kLabel, draw.stream)));
  }
}

at::Tensor StepDraws::labels_of_data(RandomKey key) const {
  const KeyedRandom random(key);
  const at::Tensor labels = at::empty({count_}, at::kLong);
  for (std::int64_t i = 0; i < count_; ++i) {
    const std::uint32_t example =
        random.below(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(dataset_->size()));
    labels[i] = dataset_->label(example);
  }
  return labels;
}

void StepDraws::add(const pipeline::Reals& reals) {
  const int count = job_.images_per_microbatch();
  const std::int64_t first = (step_ * job_.real_batches_per_step() + batch_) * job_.training.batch +
                             std::int64_t{place_.microbatch} * count;
  std::vector<std::int64_t> shape = example_shape(job_.model);
  shape.insert(shape.begin(), count);
  const at::Tensor images = at::empty(shape, at::kFloat);
  const at::Tensor labels = at::empty({count}, at::kLong);
  const data::SampleOrder order(job_.training.seed, dataset_->size());
  const std::size_t elements = dataset_->shape().elements();
  for (int i = 0; i < count; ++i) {
    at::Tensor image = images[i];
    labels[i] =
        dataset_->read(order.dataset_index(first + i), {image.mutable_data_ptr<float>(), elements});
  }
  put_if_taken(reals.images, images);
  put_if_taken(reals.labels, labels);
}

/// A pass may use labels without real pictures, and a job may have no labels.
void StepDraws::put_if_taken(const std::string& what, const at::Tensor& tensor) {
  const auto takes = [&](const pipeline::Node& node) {
    const std::vector<std::string> inputs = pipeline::inputs_of(node);
    return std::ranges::find(inputs, what) != inputs.end();
  };
  if (std::ranges::any_of(pass_->nodes, takes)) {
    put(what, tensor);
  }
}

/// [N, 16, 8]: for each picture and transformation four uniform and four normal numbers, used or
/// not.
void StepDraws::add(const pipeline::Augment& augment) {
  constexpr auto kFirst = static_cast<int>(RandomDraw::kAugmentFlip);
  constexpr int kKinds = static_cast<int>(RandomDraw::kAugmentCutout) - kFirst + 1;
  constexpr int kUniform = 4;
  constexpr int kNormal = 4;
  const int count = job_.images_per_microbatch();
  const at::Tensor numbers = at::empty({count, kKinds, 8}, at::kFloat);
  auto* next = numbers.mutable_data_ptr<float>();
  for (int picture = 0; picture < count; ++picture) {
    for (int kind = 0; kind < kKinds; ++kind) {
      const gan::PictureDraws draws(key(RandomDraw{}, augment.stream),
                                    static_cast<RandomDraw>(kFirst + kind), picture);
      for (int which = 0; which < kUniform; ++which) {
        *next++ = static_cast<float>(draws.uniform(which));
      }
      for (int which = 0; which < kNormal; ++which) {
        *next++ = static_cast<float>(draws.normal(which));
      }
    }
  }
  put("augment_" + augment.input, numbers);
}

void StepDraws::add(const pipeline::Application& application) {
  if (application.network == job_.id_of("generator")) {
    add_styles();
  }
}

void StepDraws::add(const pipeline::Penalty& penalty) {
  if (penalty.network == job_.id_of("generator")) {
    add_styles();
    put("path_noise",
        gan::keyed_normal(
            inner_key(RandomDraw::kPathNoise),
            {count_, job_.model.channels, job_.model.resolution, job_.model.resolution}, at::kCPU));
  }
}

/// Adds the draws of StyleGAN2's generator; none for other families.
void StepDraws::add_styles() {
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    if (const auto* layer = std::get_if<StyleLayerSpec>(&blocks_[block])) {
      put(fmt::format("layer_noise/{}", block),
          gan::keyed_normal(inner_key(RandomDraw::kLayerNoise, block),
                            {count_, 1, layer->side, layer->side}, at::kCPU));
    }
    const auto* mapping = std::get_if<StyleMappingSpec>(&blocks_[block]);
    if (mapping != nullptr && mapping->mixing > 0.0) {
      put("style_noise", gan::keyed_normal(inner_key(RandomDraw::kStyleNoise, block),
                                           {count_, job_.model.latent}, at::kCPU));
      put("style_cut",
          gan::keyed_uniform(inner_key(RandomDraw::kStyleCut, block), {count_, 2}, at::kCPU));
    }
  }
}

/// Replaces equal initial numbers by random ones, because equal numbers hide operations on them.
void scatter(gan::Network& network) {
  RandomKey key{.seed = 23};
  for (const auto& named : network.parameters()) {
    at::Tensor& tensor = named.parameter->tensor;
    ++key.draw;
    if (tensor.numel() == 1 || tensor.min().item<float>() == tensor.max().item<float>()) {
      const double scale =
          tensor.dim() > 1 ? 1.0 / std::sqrt(static_cast<double>(tensor[0].numel())) : 0.3;
      const at::NoGradGuard no_grad;
      tensor.add_(gan::keyed_normal(key, tensor.sizes(), at::kCPU), scale);
    }
  }
}

void write_weights(gan::Network& network, const std::filesystem::path& file) {
  std::vector<at::Tensor> kept;
  std::vector<checkpoint::TensorRecord> records;
  const auto add = [&](const std::string& name, const at::Tensor& tensor) {
    kept.push_back(tensor.detach().contiguous());
    const std::span<const float> values(kept.back().const_data_ptr<float>(),
                                        static_cast<std::size_t>(tensor.numel()));
    records.push_back({.name = checkpoint::weights_name(name),
                       .shape = tensor.sizes().vec(),
                       .bytes = std::as_bytes(values)});
  };
  for (const auto& named : network.parameters()) {
    add(named.name, named.parameter->tensor);
  }
  for (const auto& named : network.statistics()) {
    add(named.name, named.statistic->running);
  }
  (void)checkpoint::write_safetensors(file, records, {});
}

/// Returns whether the network's augmentation adapts: it takes no file of weights.
bool has_strength(gan::Network& network) {
  return std::ranges::any_of(network.statistics(), [](const auto& named) {
    return named.statistic->name == kAugmentStrength;
  });
}

/// Writes initial weights to `folder`. Returns the job on its pictures, with these as state 0.
JobSpec begun(const std::filesystem::path& folder, const std::string& text, SampleTensors& sample) {
  JobSpec job = parse_job(text, "step job");
  fidelity::write_tiny_images(folder / "images");
  job.data.source = "idx:" + (folder / "images").string();
  for (const NetworkId id : job.networks.ids()) {
    gan::Network network = std::move(gan::build_networks(job)[id]);
    network.initialise(job.training.seed);
    if (!has_strength(network)) {
      scatter(network);
      job.networks[id].weights = (folder / (network.name() + ".safetensors")).string();
      write_weights(network, job.networks[id].weights);
    }
    sample.add_weights(network, "state/0/");
    sample.add_statistics(network, "state/0/");
  }
  return job;
}

void write_sample(const std::filesystem::path& folder, int steps, const std::string& text) {
  SampleTensors sample;
  const JobSpec job = begun(folder, text, sample);
  StepDraws draws(job, sample);
  std::filesystem::path before;
  for (int step = 0; step < steps; ++step) {
    draws.add_step(step);
    before = fidelity::train({.job = job, .begin = step, .end = step + 1, .resume = before},
                             folder / fmt::format("run{}", step))
                 .checkpoint;
    for (const auto& [name, tensor] : fidelity::tensors_of(before)) {
      sample.add(fmt::format("state/{}/{}", step + 1, name), tensor);
    }
  }
  sample.write(folder / "sample.safetensors");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    write_sample(words.at(0), std::stoi(words.at(1)), words.at(2));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "step_sample: %s\n", error.what());
    return 1;
  }
}
