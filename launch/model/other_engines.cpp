// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <torch/version.h>

#include "base/errors.hpp"
#include "checkpoint/format/safetensors.hpp"
#include "data/open_dataset.hpp"
#include "gan/evaluation/generate.hpp"
#include "job/families/families.hpp"
#include "launch/model/commands.hpp"
#include "launch/model/image_scores.hpp"
#include "launch/model/translation_scores.hpp"

namespace gangway::launch {
namespace {

at::Tensor tensor_of(const checkpoint::TensorRecord& record, const std::filesystem::path& file) {
  const bool is_label = record.type == checkpoint::ElementType::kI64;
  if (!is_label && record.type != checkpoint::ElementType::kF32) {
    throw ConfigError(fmt::format("{}: tensor '{}' is {}; F32 or I64 is wanted", file.string(),
                                  record.name, checkpoint::type_name(record.type)));
  }
  const at::Tensor values = at::empty(record.shape, is_label ? at::kLong : at::kFloat);
  std::memcpy(values.mutable_data_ptr(), record.bytes.data(), record.bytes.size());
  return values;
}

void write_tensors(const std::filesystem::path& file, const gan::NamedTensors& tensors) {
  std::vector<checkpoint::TensorRecord> records;
  for (const auto& [name, tensor] : tensors.entries()) {
    const auto* const bytes = static_cast<const std::byte*>(tensor.const_data_ptr());
    records.push_back({.name = name,
                       .type = tensor.scalar_type() == at::kLong ? checkpoint::ElementType::kI64
                                                                 : checkpoint::ElementType::kF32,
                       .shape = tensor.sizes().vec(),
                       .bytes = {bytes, tensor.nbytes()}});
  }
  (void)checkpoint::write_safetensors(file, records, {});
}

/// Returns a picture for each seed: a training picture, of pairs its first side.
at::Tensor training_pictures(const JobSpec& job, const std::vector<std::uint64_t>& seeds) {
  const auto dataset = data::open_dataset(job.data, job.model, job.training.seed);
  const gan::ImageSource pictures = gan::images_of(*dataset);
  std::vector<at::Tensor> parts;
  for (const std::uint64_t seed : seeds) {
    const auto size = static_cast<std::uint64_t>(dataset->size());
    parts.push_back(pictures(static_cast<std::int64_t>(seed % size), 1));
  }
  const at::Tensor all = at::cat(parts);
  return job.training.recipe->translates ? all.narrow(1, 0, all.size(1) / 2).contiguous() : all;
}

gan::NamedTensors named(const gan::Latents& latents, const ModelSpec& model) {
  const gan::NamedTensors noise{{"noise", latents.noise}};
  return model.classes > 0 ? noise.with("labels", latents.labels) : noise;
}

gan::NamedTensors inputs_of(TrainedJob trained, const InputsOptions& options) {
  const ModelSpec model = trained.job.model;
  if (options.is_evaluation) {
    const TrainedRun run = samples_of(std::move(trained));
    const std::int64_t count = options.images.value_or(run.job.evaluation.images);
    return run.job.training.recipe->translates
               ? gan::NamedTensors{{"image", scored_pictures(run.job, count)}}
               : named(gan::evaluation_latents(model, kEvaluationSeed, 0, count), model);
  }
  const std::vector<std::uint64_t> seeds = parse_seeds(options.seeds);
  return trained.job.training.recipe->takes_pictures
             ? gan::NamedTensors{{"image", training_pictures(trained.job, seeds)}}
             : named(gan::latents_of_seeds(model, seeds), model);
}

std::int64_t peak_bytes() {
  rusage usage{};
  return ::getrusage(RUSAGE_SELF, &usage) == 0 ? std::int64_t{usage.ru_maxrss} * 1024 : 0;
}

/// Returns the seconds of single calls, after one that is not counted.
template <typename Call>
std::vector<double> times_of(const Call& call, double seconds) {
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  };
  call();
  std::vector<double> times;
  for (const double end = now() + seconds; times.empty() || now() < end;) {
    const double begin = now();
    call();
    times.push_back(now() - begin);
  }
  return times;
}

}  // namespace

at::Tensor read_made(const std::filesystem::path& file, const ModelSpec& model) {
  const checkpoint::SafetensorsFile made(file);
  const checkpoint::TensorRecord* const output = made.find("output");
  const std::vector<std::int64_t> wanted = example_shape(model);
  if (output == nullptr || output->shape.empty() || output->shape.front() < 1 ||
      !std::equal(output->shape.begin() + 1, output->shape.end(), wanted.begin(), wanted.end())) {
    throw ConfigError(fmt::format("{}: has no tensor 'output' of shape [N, {}]", file.string(),
                                  fmt::join(wanted, ", ")));
  }
  const at::Tensor examples = tensor_of(*output, file);
  if (!at::isfinite(examples).all().item<bool>()) {
    throw ConfigError(file.string() + ": tensor 'output' has values that are not finite");
  }
  return model.family->makes_images() ? examples.clamp(-1.0, 1.0) : examples;
}

void write_inputs(const InputsOptions& options) {
  write_tensors(options.file, inputs_of(open_trained_job(options.run), options));
}

void time_network(const TimeOptions& options) {
  TrainedJob trained = open_trained_job(options.run);
  gan::Network& network = trained.networks[trained.job.shown_network()];
  const checkpoint::SafetensorsFile file(options.inputs);
  gan::NamedTensors inputs;
  std::int64_t size = 0;
  for (const checkpoint::TensorRecord& record : file.tensors()) {
    inputs = inputs.with(record.name, tensor_of(record, options.inputs));
    size = inputs.at(record.name).size(0);
  }
  const at::NoGradGuard no_grad;
  const auto outputs = [&](std::int64_t first) {
    return network.forward(inputs.each([&](const at::Tensor& input) {
      return input.slice(0, first, first + options.batch);
    }),
                           {.mode = gan::Mode::kEvaluation,
                            .sink = nullptr,
                            .key = {},
                            .precision = options.precision});
  };
  nlohmann::ordered_json told{{"version", "LibTorch " TORCH_VERSION}};
  if (options.made.empty()) {
    told["seconds"] = times_of([&] { (void)outputs(0); }, options.seconds);
  } else {
    std::vector<at::Tensor> parts;
    for (std::int64_t first = 0; first < size; first += options.batch) {
      parts.push_back(outputs(first));
    }
    write_tensors(options.made, {{"output", at::cat(parts).contiguous()}});
  }
  told["peak_bytes"] = peak_bytes();
  fmt::print("{}\n", told.dump());
}

}  // namespace gangway::launch
