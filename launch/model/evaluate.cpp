// SPDX-License-Identifier: MIT
#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "checkpoint/store/scores.hpp"
#include "data/stacked_dataset.hpp"
#include "data/toy.hpp"
#include "gan/evaluation/generate.hpp"
#include "gan/evaluation/modes/stacked_modes.hpp"
#include "gan/evaluation/modes/toy_modes.hpp"
#include "gan/evaluation/translate.hpp"
#include "job/data_source.hpp"
#include "launch/model/commands.hpp"
#include "launch/model/feature_network.hpp"
#include "launch/model/image_scores.hpp"
#include "launch/model/translation_scores.hpp"
#include "run/run_files.hpp"

namespace gangway::launch {
namespace {

/// Prints the run and its scores as one line.
void print_report(const TrainedRun& run, const nlohmann::ordered_json& scores) {
  nlohmann::ordered_json report{
      {"run", run.directory.string()},
      {"step", run.step},
      {"kimg", static_cast<double>(run.images) / 1000.0},
      {"weights", run.network.name() + (run.weights == WeightVersion::kAverage ? "_ema" : "")}};
  report.update(scores);
  fmt::print("{}\n", report.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void print_heading(const TrainedRun& run) {
  fmt::print("{}  step {}, {:.1f} kimg, {}\n", run.directory.string(), run.step,
             static_cast<double>(run.images) / 1000.0,
             (run.weights == WeightVersion::kAverage ? "averaged " : "") + run.network.name());
}

/// Stores a score beside the checkpoint, or prints it if another engine made the pictures.
void record(const TrainedRun& run, checkpoint::CheckpointScore score) {
  if (run.made.defined()) {
    const char* const better = score.better == checkpoint::Better::kHigher ? "higher" : "lower";
    print_report(run, {{"metric", score.metric}, {"score", score.value}, {"better", better}});
    return;
  }
  score.checkpoint_id = run.checkpoint_id;
  score.samples = run.job.evaluation.images;
  checkpoint::write_score(run.directory / kCheckpointsFolder, run.step, score);
  fmt::print("{} {:.4f} of step {}\n", score.metric, score.value, run.step);
  for (const checkpoint::NamedScore& one : score.beside) {
    fmt::print("{} {:.4f}\n", one.metric, one.value);
  }
}

/// Returns "; of other real images 0.123" if there are held-back images.
template <typename Value>
std::string floor_text(const ImageScores& scores, const Value& value_of) {
  return scores.held_back
             ? fmt::format("; of other real images {:.3f}", value_of(*scores.held_back))
             : "";
}

void print_sliced(const ImageScores& scores) {
  fmt::print("{:<8} {:8.2f}  by level, the finest first: {:.2f}; before the training {:.2f}{}\n",
             "SWD", scores.sliced.mean, fmt::join(scores.sliced.by_level, ", "),
             scores.sliced_ceiling,
             scores.sliced_held_back
                 ? fmt::format("; of other real images {:.2f}", *scores.sliced_held_back)
                 : "");
}

void print_distances(const TrainedRun& run, const ImageScores& scores,
                     const FeatureNetwork& network, const ReferenceData& data) {
  fmt::print("{:<8} {:8.2f}  {} generated against {}\n", network.distance,
             scores.generated.distance, run.job.evaluation.images, data.description);
  if (scores.held_back) {
    fmt::print("{:<8} {:8.2f}  {} other real images against the same\n", "floor",
               scores.held_back->distance, data.held_back_count);
  }
  fmt::print("{:<8} {:8.2f}  the generator before its training against the same\n", "ceiling",
             scores.ceiling);
  const auto kernel = [](const SetScores& of) { return of.kernel.mean; };
  fmt::print("{:<8} {:8.3f}  deviation of a part {:.3f}{}\n", network.kernel_distance,
             kernel(scores.generated), scores.generated.kernel.deviation,
             floor_text(scores, kernel));
}

void print_precision_recall(const ImageScores& scores) {
  const auto line = [&](const char* name, double gan::PrecisionRecall::*member,
                        const char* meaning) {
    const auto value = [member](const SetScores& of) { return of.neighbours.*member; };
    fmt::print("{:<8} {:7.3f}  {}{}\n", name, value(scores.generated), meaning,
               floor_text(scores, value));
  };
  line("precision", &gan::PrecisionRecall::precision, "share of the generated among the real ones");
  line("recall", &gan::PrecisionRecall::recall, "share of the real among the generated ones");
}

void print_class_shares(const ClassShareScores& shares) {
  fmt::print("\n{:12} {:>9} {:>9}\n", "shares", "generated", "real");
  for (std::size_t i = 0; i < gan::kClothes.size(); ++i) {
    fmt::print("{:12} {:7.1f} % {:7.1f} %\n", gan::kClothes.at(i), 100.0 * shares.generated.at(i),
               100.0 * shares.real.at(i));
  }
  if (shares.right) {
    fmt::print("{:12} {:7.1f} %  of the generated show the class that was asked for\n", "as asked",
               100.0 * *shares.right);
  }
}

void print_json(const TrainedRun& run, const ImageScores& scores, const FeatureNetwork& network,
                const std::string& reference) {
  const auto floor = [&](const auto& value_of) -> nlohmann::ordered_json {
    return scores.held_back ? nlohmann::ordered_json(value_of(*scores.held_back)) : nullptr;
  };
  nlohmann::ordered_json report = {
      {"metric", network.distance},
      {"score", scores.generated.distance},
      {"floor", floor([](const SetScores& of) { return of.distance; })},
      {"ceiling", scores.ceiling},
      {"kernel_metric", network.kernel_distance},
      {"kid", scores.generated.kernel.mean},
      {"kid_deviation", scores.generated.kernel.deviation},
      {"kid_floor", floor([](const SetScores& of) { return of.kernel.mean; })},
      {"swd", scores.sliced.mean},
      {"swd_by_level", scores.sliced.by_level},
      {"swd_ceiling", scores.sliced_ceiling},
      {"swd_floor", scores.sliced_held_back ? nlohmann::ordered_json(*scores.sliced_held_back)
                                            : nlohmann::ordered_json(nullptr)},
      {"precision", scores.generated.neighbours.precision},
      {"recall", scores.generated.neighbours.recall},
      {"precision_floor", floor([](const SetScores& of) { return of.neighbours.precision; })},
      {"recall_floor", floor([](const SetScores& of) { return of.neighbours.recall; })},
      {"samples", run.job.evaluation.images},
      {"neighbour_samples", scores.neighbour_samples},
      {"reference", reference},
      {"features", network.hash}};
  if (scores.shares) {
    for (std::size_t i = 0; i < gan::kClothes.size(); ++i) {
      report["class_shares"][gan::kClothes.at(i)] = {{"generated", scores.shares->generated.at(i)},
                                                     {"real", scores.shares->real.at(i)}};
    }
    if (scores.shares->right) {
      report["right_class"] = *scores.shares->right;
    }
  }
  print_report(run, report);
}

void evaluate_images(TrainedRun& run, const FeatureNetwork& network,
                     const EvaluateOptions& options) {
  const ReferenceData data = open_reference_data(run.job, options.real);
  ImageScorer scorer(data, network, run.job.evaluation.images);
  if (options.format == OutputFormat::kRecord) {
    std::vector<checkpoint::NamedScore> scores = scorer.scores_of(run, run.job.metrics());
    const checkpoint::NamedScore decides = scores.front();
    scores.erase(scores.begin());
    record(run, {.metric = decides.metric,
                 .value = decides.value,
                 .better = decides.better,
                 .network = network.lenet ? "" : network.hash,
                 .beside = std::move(scores)});
    return;
  }
  const ImageScores scores = scorer.scores_of(run);
  if (options.format == OutputFormat::kJson) {
    print_json(run, scores, network, data.description);
    return;
  }
  print_heading(run);
  print_sliced(scores);
  print_distances(run, scores, network, data);
  if (network.lenet && run.job.model.channels > 1) {
    fmt::print("{:<8} {:8}  {} and what follows from it see no colours: SWD does\n", "", "",
               network.distance);
  }
  print_precision_recall(scores);
  if (scores.shares) {
    print_class_shares(*scores.shares);
  }
}

struct StackedScores {
  gan::StackedModes generated;
  gan::StackedModes real;  ///< of the same number of real pictures
};

/// Scores stacks; the real ones are test images, which the classifier has not seen.
StackedScores stacked_scores(TrainedRun& run, gan::LeNet& lenet, std::int64_t samples) {
  ModelSpec gray = run.job.model;
  gray.channels = 1;
  auto test = open_test_images(gray);
  const gan::ClassShares shares =
      gan::class_shares(lenet, gan::lenet_features(lenet, gan::images_of(*test), test->size()));
  const data::StackedDataset stacked(std::move(test));
  const auto modes = [&](const gan::ImageSource& images, std::int64_t count) {
    return gan::stacked_modes(gan::count_stacked_modes(lenet, images, count), shares);
  };
  return {.generated = modes(evaluation_samples(run), samples),
          .real = modes(gan::images_of(stacked), std::min(samples, stacked.size()))};
}

void evaluate_stacked(TrainedRun& run, gan::LeNet& lenet, const EvaluateOptions& options) {
  const StackedScores scores = stacked_scores(run, lenet, run.job.evaluation.images);
  const gan::StackedModes& generated = scores.generated;
  if (options.format == OutputFormat::kRecord) {
    record(run, {.metric = "modes-covered",
                 .value = static_cast<double>(generated.covered),
                 .better = checkpoint::Better::kHigher});
    return;
  }
  if (options.format == OutputFormat::kJson) {
    print_report(run, {{"metric", "stacked-modes"},
                       {"covered", generated.covered},
                       {"modes", gan::kStackedModes},
                       {"kl_from_uniform", generated.from_uniform},
                       {"kl_from_real", generated.from_real},
                       {"covered_floor", scores.real.covered},
                       {"kl_from_uniform_floor", scores.real.from_uniform},
                       {"kl_from_real_floor", scores.real.from_real},
                       {"samples", run.job.evaluation.images},
                       {"features", kFeatureWeightsHash}});
    return;
  }
  print_heading(run);
  fmt::print("modes covered  {} of {} by {} generated pictures; by as many real ones {}\n",
             generated.covered, gan::kStackedModes, run.job.evaluation.images, scores.real.covered);
  const auto divergence = [](const char* name, double value, double of_real) {
    fmt::print("{:14} {:.3f} nats (KL divergence); of real ones {:.3f}\n", name, value, of_real);
  };
  divergence("from uniform", generated.from_uniform, scores.real.from_uniform);
  divergence("from real", generated.from_real, scores.real.from_real);
}

void evaluate_points(TrainedRun& run, const data::ToyMixture& mixture,
                     const EvaluateOptions& options) {
  const at::Tensor points = evaluation_samples(run)(0, run.job.evaluation.images).contiguous();
  const gan::ToyModes modes = gan::count_toy_modes(
      mixture, {points.const_data_ptr<float>(), static_cast<std::size_t>(points.numel())});
  if (options.format == OutputFormat::kRecord) {
    record(run, {.metric = "mode-score",
                 .value = modes.good_share * modes.covered / modes.modes,
                 .better = checkpoint::Better::kHigher});
    return;
  }
  if (options.format == OutputFormat::kJson) {
    print_report(run, {{"metric", "modes"},
                       {"covered", modes.covered},
                       {"modes", modes.modes},
                       {"good_share", modes.good_share},
                       {"samples", run.job.evaluation.images}});
    return;
  }
  print_heading(run);
  fmt::print("modes covered  {} of {}\n", modes.covered, modes.modes);
  fmt::print("good samples   {:.1f} % of {} within 3 sigma of a mode (the data itself: 98.9 %)\n",
             100.0 * modes.good_share, run.job.evaluation.images);
}

/// Rejects options without effect, because users would expect one.
void require_no_image_options(const TrainedRun& run, const EvaluateOptions& options) {
  if (!options.of_images.empty()) {
    throw ConfigError(fmt::format(
        "{}: has no meaning for {}, whose score compares no sets of images; leave it out",
        fmt::join(options.of_images, ", "), run.job.data.source));
  }
}

/// `run` must outlive the result.
Translator translator_of(TrainedRun& run) {
  return [&run](std::int64_t first, const at::Tensor& pictures) {
    return run.made.defined() ? run.made.narrow(0, first, pictures.size(0))
                              : gan::translated(run.network, pictures);
  };
}

void evaluate_translation(TrainedRun& run, const EvaluateOptions& options) {
  const TranslationScores scores =
      translation_scores(translator_of(run), run.job, run.job.evaluation.images);
  if (options.format == OutputFormat::kRecord) {
    record(run, {.metric = "ssim",
                 .value = scores.generated.similarity,
                 .better = checkpoint::Better::kHigher});
    return;
  }
  if (options.format == OutputFormat::kJson) {
    print_report(run, {{"metric", "ssim"},
                       {"score", scores.generated.similarity},
                       {"l1", scores.generated.difference},
                       {"ssim_of_input", scores.given.similarity},
                       {"l1_of_input", scores.given.difference},
                       {"pairs", scores.pairs},
                       {"held_out", scores.is_held_out}});
    return;
  }
  print_heading(run);
  const char* part = scores.is_held_out ? "held-out" : "training";
  fmt::print("{:<8} {:7.3f}  of {} {} pairs; of the input itself {:.3f}\n", "SSIM",
             scores.generated.similarity, scores.pairs, part, scores.given.similarity);
  fmt::print("{:<8} {:7.2f}  mean difference of shades (0-255); of the input itself {:.2f}\n", "L1",
             scores.generated.difference, scores.given.difference);
}

void evaluate_clothes(TrainedRun& run, gan::LeNet& lenet, const EvaluateOptions& options) {
  const ClassTranslationScores scores =
      class_translation_scores(translator_of(run), run.job, lenet, run.job.evaluation.images);
  if (options.format == OutputFormat::kRecord) {
    record(run, {.metric = "right-class",
                 .value = scores.generated,
                 .better = checkpoint::Better::kHigher});
    return;
  }
  if (options.format == OutputFormat::kJson) {
    print_report(run, {{"metric", "right-class"},
                       {"score", scores.generated},
                       {"of_input", scores.given},
                       {"of_real", scores.real},
                       {"pictures", scores.pictures},
                       {"features", kFeatureWeightsHash}});
    return;
  }
  print_heading(run);
  fmt::print(
      "{:<8} {:7.1f} % of {} held-out pictures are seen as this class; of the input itself {:.1f} "
      "%, of real ones {:.1f} %\n",
      scores.kind, 100.0 * scores.generated, scores.pictures, 100.0 * scores.given,
      100.0 * scores.real);
}

/// Overrides the job's values by the typed options.
void take_over(const EvaluateOptions& options, EvaluationSpec& evaluation) {
  evaluation.images = options.images.value_or(evaluation.images);
  evaluation.resize = options.resize.value_or(evaluation.resize);
  if (!options.features.empty()) {
    evaluation.features = options.features.string();
  }
  if (options.recorded) {
    evaluation.metrics = {*options.recorded};
    evaluation.decides = options.recorded;
  }
}

}  // namespace

void evaluate(const EvaluateOptions& options) {
  TrainedJob trained = open_trained_job(options.run);
  take_over(options, trained.job.evaluation);
  if (trained.job.training.own.scores) {
    if (!options.made.empty()) {
      throw ConfigError(
          "--made: score() of the job's step calls the networks itself, so pictures of another "
          "engine have no score");
    }
    evaluate_own(trained, options);
    return;
  }
  TrainedRun run = samples_of(std::move(trained));
  if (!options.made.empty()) {
    run.made = read_made(options.made, run.job.model);
    run.job.evaluation.images = run.made.size(0);
  }
  const std::string& source = run.job.data.source;
  if (run.job.compares_pictures()) {
    if (run.made.defined() && run.made.size(0) < kFewestSamples) {
      throw ConfigError(fmt::format("{}: has {} pictures; a score needs {} or more",
                                    options.made.string(), run.made.size(0), kFewestSamples));
    }
    const EvaluationSpec& evaluation = run.job.evaluation;
    evaluate_images(
        run,
        evaluation.features.empty()
            ? open_feature_network(options.lenet)
            : open_feature_network(evaluation.features, evaluation.resize, run.network.device()),
        options);
    return;
  }
  require_no_image_options(run, options);
  const auto lenet = [&] { return open_feature_network(options.lenet).lenet; };
  if (run.job.training.recipe->translates) {
    if (translates_clothes(run.job)) {
      evaluate_clothes(run, *lenet(), options);
    } else {
      evaluate_translation(run, options);
    }
  } else if (source == kStackedSource) {
    evaluate_stacked(run, *lenet(), options);
  } else {
    const auto mixture = data::toy_mixture(source.substr(kToySource.size()));
    if (!mixture) {
      throw ConfigError("data.source " + source +
                        ": no such toy mixture; use toy:ring8 or toy:grid25");
    }
    evaluate_points(run, *mixture, options);
  }
}

}  // namespace gangway::launch
