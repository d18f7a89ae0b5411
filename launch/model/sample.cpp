// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "gan/evaluation/generate.hpp"
#include "gan/evaluation/translate.hpp"
#include "gan/pictures/png.hpp"
#include "job/families/families.hpp"
#include "launch/model/commands.hpp"
#include "launch/model/translation_scores.hpp"

namespace gangway::launch {
namespace {

constexpr std::size_t kBatch = 256;  // examples generated at a time

at::Tensor generate(gan::Network& generator, const ModelSpec& model,
                    std::span<const std::uint64_t> seeds, std::optional<std::int64_t> label) {
  std::vector<at::Tensor> parts;
  for (std::size_t first = 0; first < seeds.size(); first += kBatch) {
    const auto part = seeds.subspan(first, std::min(kBatch, seeds.size() - first));
    parts.push_back(gan::generate_for_seeds(generator, model, part, label));
  }
  return at::cat(parts).contiguous();
}

/// Input, output and target in three rows; of a seed that many pictures behind the first.
at::Tensor translations(TrainedRun& run, std::span<const std::uint64_t> seeds) {
  const ShownPairs shown = open_shown_pairs(run.job);
  std::vector<std::int64_t> examples;
  for (const std::uint64_t seed : seeds) {
    const auto size = static_cast<std::uint64_t>(shown.dataset->size());
    examples.push_back(static_cast<std::int64_t>(seed % size));
  }
  return gan::rows_of_sides(&run.generator, *shown.dataset, examples,
                            static_cast<int>(seeds.size()))
      .contiguous();
}

std::span<const float> values_of(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

}  // namespace

void sample(const SampleOptions& options) {
  const std::vector<std::uint64_t> seeds = parse_seeds(options.seeds);
  TrainedRun run = open_trained_run(options.run);
  const bool translates = run.job.training.recipe->translates;
  if (translates && options.label) {
    throw ConfigError(fmt::format(
        "--label: has no meaning for recipe {}, which makes its pictures of other pictures; leave "
        "it out",
        run.job.training.recipe->name));
  }
  const at::Tensor examples = translates
                                  ? translations(run, seeds)
                                  : generate(run.generator, run.job.model, seeds, options.label);
  if (run.job.model.family->makes_points) {
    const pictures::ScatterLayer layer{.points = values_of(examples)};
    pictures::write_png_scatter(options.picture, {&layer, 1});
  } else {
    const pictures::ImageBatch images{.pixels = values_of(examples),
                                      .count = static_cast<int>(examples.size(0)),
                                      .channels = static_cast<int>(examples.size(1)),
                                      .height = static_cast<int>(examples.size(2)),
                                      .width = static_cast<int>(examples.size(3))};
    const int columns =
        translates ? static_cast<int>(seeds.size())
                   : static_cast<int>(std::ceil(std::sqrt(static_cast<double>(seeds.size()))));
    pictures::write_png_grid(options.picture, images, columns);
  }
  fmt::print("{}: {} examples of {} at step {}\n", options.picture.string(), seeds.size(),
             run.directory.string(), run.step);
}

}  // namespace gangway::launch
