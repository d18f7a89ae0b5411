// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "gan/evaluation/generate.hpp"
#include "gan/evaluation/picture_batch.hpp"
#include "gan/evaluation/translate.hpp"
#include "gan/evaluation/truncation.hpp"
#include "gan/pictures/captions.hpp"
#include "gan/pictures/png.hpp"
#include "job/families/families.hpp"
#include "launch/model/commands.hpp"
#include "launch/model/files/npy_file.hpp"
#include "launch/model/translation_scores.hpp"

namespace gangway::launch {
namespace {

constexpr std::int64_t kBatch = 256;  // examples generated at a time

/// Reads latents from a file, one row per example. Without a named label, an example's label is its
/// index modulo the number of labels.
gan::Latents latents_in(const std::filesystem::path& file, const ModelSpec& model,
                        std::optional<std::int64_t> label) {
  const at::Tensor noise = read_npy_matrix(file);
  if (noise.size(1) != model.inputs() || noise.size(0) == 0) {
    throw ConfigError(fmt::format("{}: has {} rows of {} numbers; a row of this model has {}",
                                  file.string(), noise.size(0), noise.size(1), model.inputs()));
  }
  std::vector<std::uint64_t> numbers(static_cast<std::size_t>(noise.size(0)));
  std::iota(numbers.begin(), numbers.end(), 0);
  return {.noise = noise, .labels = gan::latents_of_seeds(model, numbers, label).labels};
}

gan::Latents latents_of(const SampleOptions& options, const ModelSpec& model) {
  if (!options.noise.empty()) {
    return latents_in(options.noise, model, options.label);
  }
  if (options.interpolate.empty()) {
    return gan::latents_of_seeds(model, parse_seeds(options.seeds), options.label);
  }
  const std::vector<std::uint64_t> ends = parse_seeds(options.interpolate, "--interpolate");
  if (ends.size() != 2) {
    throw ConfigError(fmt::format("--interpolate {}: names {} seeds; write two, as 3,8",
                                  options.interpolate, ends.size()));
  }
  return gan::latents_between(model, gan::latents_of_seeds(model, ends, options.label),
                              options.frames);
}

/// Returns captions in picture order; for noise files and frames, their numbers.
std::vector<std::string> captions_of(const SampleOptions& options, const ModelSpec& model,
                                     const gan::Latents& latents) {
  std::vector<std::uint64_t> numbers(static_cast<std::size_t>(latents.noise.size(0)));
  std::iota(numbers.begin(), numbers.end(), 0);
  if (options.noise.empty() && options.interpolate.empty()) {
    numbers = parse_seeds(options.seeds);
  }
  std::vector<std::string> captions;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    captions.push_back(
        model.classes > 0
            ? fmt::format("{}:{}", numbers[i],
                          latents.labels[static_cast<std::int64_t>(i)].item<std::int64_t>())
            : std::to_string(numbers[i]));
  }
  return captions;
}

at::Tensor pictures_of(TrainedRun& run, const gan::Latents& latents, double truncation) {
  std::optional<gan::Truncation> truncated;
  if (truncation != 1.0) {
    truncated.emplace(run.network, run.job.model);
  }
  std::vector<at::Tensor> parts;
  for (std::int64_t first = 0; first < latents.noise.size(0); first += kBatch) {
    const gan::Latents some{.noise = latents.noise.slice(0, first, first + kBatch),
                            .labels = latents.labels.slice(0, first, first + kBatch)};
    parts.push_back(truncated ? truncated->generate(some, truncation)
                              : gan::generate(run.network, run.job.model, some));
  }
  return at::cat(parts).contiguous();
}

/// Returns input, output and target in three rows; a seed is a picture's index.
at::Tensor translations(TrainedRun& run, std::span<const std::uint64_t> seeds) {
  const ShownPairs shown = open_shown_pairs(run.job);
  std::vector<std::int64_t> examples;
  for (const std::uint64_t seed : seeds) {
    const auto size = static_cast<std::uint64_t>(shown.dataset->size());
    examples.push_back(static_cast<std::int64_t>(seed % size));
  }
  return gan::rows_of_sides(&run.network, *shown.dataset, examples, static_cast<int>(seeds.size()))
      .contiguous();
}

/// Writes `pictures` as 0000.png, 0001.png, … to their own folder. @throws EnvironmentError
void write_singly(const std::filesystem::path& folder, const at::Tensor& pictures) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) {
    throw EnvironmentError(
        fmt::format("{}: cannot be made: {}", folder.string(), failure.message()));
  }
  for (std::int64_t i = 0; i < pictures.size(0); ++i) {
    const at::Tensor one = pictures.narrow(0, i, 1).contiguous();
    pictures::write_png_grid(folder / fmt::format("{:04}.png", i), gan::batch_of(one), 1);
  }
}

/// Rejects options that contradict each other or the job.
void require_sense(const SampleOptions& options, const JobSpec& job) {
  const bool has_latents = !options.interpolate.empty() || !options.noise.empty();
  const bool is_truncated = options.truncation != 1.0;
  if (job.training.recipe->translates &&
      (options.label || has_latents || options.has_captions || is_truncated)) {
    throw ConfigError(fmt::format(
        "{}: has no meaning for recipe {}, which makes its pictures of other pictures; leave it "
        "out",
        options.label                  ? "--label"
        : !options.interpolate.empty() ? "--interpolate"
        : !options.noise.empty()       ? "--noise"
        : options.has_captions         ? "--captions"
                                       : "--truncation",
        job.training.recipe->name));
  }
  if (is_truncated && !gan::has_styles(job)) {
    throw ConfigError(fmt::format(
        "--truncation: goes towards the mean of styles, and the generator of family {} has no "
        "network that maps noise to styles, as stylegan2 has; leave it out",
        job.model.family->name));
  }
  if (options.has_captions && !options.single.empty()) {
    throw ConfigError(
        "--captions: are written into a grid, and --single writes a file each, in the order of the "
        "seeds; leave one out");
  }
  if (options.has_captions && job.model.family->makes_points) {
    throw ConfigError("--captions: this model makes points, which are one picture; leave it out");
  }
  if (job.model.family->makes_points && !options.single.empty()) {
    throw ConfigError("--single: this model makes points, which are one picture; leave it out");
  }
}

/// @param captions  one per picture; empty: none
void write_grid(const std::filesystem::path& file, const at::Tensor& examples, int columns,
                const std::vector<std::string>& captions) {
  const pictures::ImageBatch images = gan::batch_of(examples);
  pictures::write_png(file, captions.empty()
                                ? pictures::arrange_grid(images, columns)
                                : pictures::arrange_captioned(images, columns, captions));
}

}  // namespace

void sample(const SampleOptions& options) {
  const std::vector<std::uint64_t> seeds = parse_seeds(options.seeds);
  TrainedJob trained = open_trained_job(options.run);
  if (!makes_samples(trained)) {
    write_shown(trained, options);
    return;
  }
  TrainedRun run = samples_of(std::move(trained));
  require_sense(options, run.job);
  const bool translates = run.job.training.recipe->translates;
  std::vector<std::string> captions;
  at::Tensor examples;
  if (translates) {
    examples = translations(run, seeds);
  } else {
    const gan::Latents latents = latents_of(options, run.job.model);
    examples = pictures_of(run, latents, options.truncation);
    if (options.has_captions) {
      captions = captions_of(options, run.job.model, latents);
    }
  }
  if (!options.single.empty()) {
    write_singly(options.single, examples);
  } else if (run.job.model.family->makes_points) {
    const pictures::ScatterLayer layer{.points = gan::values_of(examples)};
    pictures::write_png_scatter(options.picture, {&layer, 1});
  } else {
    write_grid(options.picture, examples,
               translates ? static_cast<int>(seeds.size())
                          : static_cast<int>(std::ceil(std::sqrt(examples.size(0)))),
               captions);
  }
  fmt::print("{}: {} examples of {} at step {}\n",
             (options.single.empty() ? options.picture : options.single).string(),
             translates ? static_cast<std::int64_t>(seeds.size()) : examples.size(0),
             run.directory.string(), run.step);
}

}  // namespace gangway::launch
