// SPDX-License-Identifier: MIT
// Subcommands of gangway-model, which `gangway apply`, `gangway sample`, `gangway evaluate` and
// `gangway checkpoints export` start. Main thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/model/trained_run.hpp"

namespace gangway::launch {

/// Fewest generated pictures that have a score.
inline constexpr std::int64_t kFewestSamples = 100;

enum class OutputFormat {
  kText,
  kJson,
  kRecord,  ///< one line; stores only this score beside the checkpoint
};

struct EvaluateOptions {
  RunChoice run;
  /// Options that are not given come from the job's `evaluation`.
  std::optional<std::int64_t> images = {};  ///< generated examples
  std::filesystem::path features;           ///< weights of FD-LeNet, or a TorchScript network
  std::optional<FeatureResize> resize = {};
  std::optional<Metric> recorded = {};  ///< the only score stored beside the checkpoint
  std::filesystem::path lenet;          ///< weights of FD-LeNet
  std::optional<std::int64_t> real;     ///< training images to compare with; nullopt: the usual set
  OutputFormat format = OutputFormat::kText;
  std::filesystem::path made;  ///< pictures of another engine to score (read_made); empty: none
  bool follows = false;        ///< follow_scores
  bool awaits = false;         ///< await_score
  /// Given options that apply only to scores of generated images: "--real".
  std::vector<std::string> of_images;
};

struct SampleOptions {
  RunChoice run;
  std::string seeds = "0-63";
  std::filesystem::path picture = "grid.png";
  std::optional<std::int64_t> label;
  std::string interpolate;       ///< "A,B": frames between two seeds; replaces `seeds`
  int frames = 16;               ///< number of frames
  std::filesystem::path noise;   ///< .npy, float [N, latent + codes]; replaces `seeds`; empty: none
  std::filesystem::path single;  ///< folder for one file per picture; replaces the grid
  bool has_captions = false;     ///< seeds and labels under the pictures
  double truncation = 1.0;       ///< psi of gan/evaluation/truncation.hpp; 1: none
};

/// Inputs of a run's network, for other engines.
struct InputsOptions {
  RunChoice run;
  std::string seeds = "0-31";          ///< of the noise, or numbers of training pictures
  bool is_evaluation = false;          ///< instead: the inputs that `evaluate` gives
  std::optional<std::int64_t> images;  ///< their number; nullopt: evaluation.images of the job
  std::filesystem::path file;          ///< safetensors to be written; must not exist
};

/// A measurement of a run's network. share/python/gangway/tools/engine.py measures other engines.
struct TimeOptions {
  RunChoice run;
  std::filesystem::path inputs;  ///< as write_inputs makes it
  std::int64_t batch = 1;
  double seconds = 1.0;
  Precision precision = Precision::kFp32;
  std::filesystem::path made;  ///< writes "output" of all inputs here instead; empty: measures
};

struct ApplyOptions {
  RunChoice run;
  std::string network;                          ///< of the job; empty: the shown network
  std::vector<std::filesystem::path> pictures;  ///< files and folders
  std::filesystem::path output;                 ///< folder of the results
  double memory_gib = 2.0;                      ///< for maps; pictures and LibTorch come on top
};

struct TrainFeaturesOptions {
  std::filesystem::path file;  ///< output file; must not exist
};

struct ExportOptions {
  std::filesystem::path checkpoint;  ///< its folder
  std::filesystem::path file;        ///< to be written; must not exist
  std::string network;
  WeightVersion weights = WeightVersion::kAverage;
};

struct ComputeOptions {
  std::filesystem::path job_file;
  std::vector<std::string> overrides;  ///< "training.batch=64"
  double seconds = 0.2;                ///< for each measurement
  OutputFormat format = OutputFormat::kText;
};

struct NetworksOptions {
  std::filesystem::path job_file;
};

struct BeginOptions {
  std::filesystem::path job_file;
  std::filesystem::path weights;  ///< safetensors, by the names of checkpoints
  std::filesystem::path run;      ///< folder; it gets checkpoints/step-000000000 and job.yaml
  std::vector<std::string> overrides;
};

/// Builds the networks of a job, the user's included, and prints one line for each: "network
/// generator 1066880", its name and number of trained parameters.
/// @throws ConfigError naming key and file of a network that cannot be trained
void describe_networks(const NetworksOptions& options);

/// Writes a run's state before its first step, with the file's tensors in place of initial values.
/// @throws CheckpointError if a tensor is not of the job's networks; EnvironmentError
void begin_run(const BeginOptions& options);

/// Times each layer of a job's networks on one core and prints its share of the core's peak rate.
/// @throws ConfigError if there is nothing to time
void bench_compute(const ComputeOptions& options);

/// Prints scores of generated images: FD-LeNet (or FID) with floor and ceiling, KID, precision,
/// recall, classes. Toy mixtures and stacked pictures: modes covered. Pairs: likeness to the target
/// pictures. @throws ConfigError for options that the score does not use
void evaluate(const EvaluateOptions& options);

/// `gangway evaluate RUN --follow`: scores the run's newest checkpoint, repeatedly. Waits for the
/// run first, and returns once it has ended and its last checkpoint has a score. Prints a line for
/// a score that fails. @throws EnvironmentError after an hour without a new checkpoint
void follow_scores(const EvaluateOptions& options);

/// Returns once the checkpoint of `options.run.step` has a score; the coordinator limits the time.
/// @throws CheckpointError if that checkpoint is missing, or a newer one already has a score
void await_score(const EvaluateOptions& options);

/// Writes a grid of pictures (points: a scatter plot), one per seed. @throws ConfigError for a
/// label if the generator makes pictures from pictures
void sample(const SampleOptions& options);
/// Writes a file with "noise" and "labels", or "image". @throws ConfigError, EnvironmentError
void write_inputs(const InputsOptions& options);
/// Returns tensor "output" of a safetensors file: examples [N, …] of the model, images clamped to
/// [-1, 1]. @throws ConfigError for another shape or values that are not finite; CheckpointError
/// for a file that is none
[[nodiscard]] at::Tensor read_made(const std::filesystem::path& file, const ModelSpec& model);
/// Prints seconds of single calls and the peak memory as one line of JSON.
/// @throws ConfigError naming a file that does not fit the network
void time_network(const TimeOptions& options);
/// Changes pictures by a network that makes pictures of pictures, each to a PNG file, and prints
/// the rate. A picture that fails has a line on standard error; the others are made.
/// @throws ConfigError if the network does not; Error of the first picture's kind if some failed
void apply(const ApplyOptions& options);

// Results of a job's own step on a checkpoint (docs/own-step.md): pictures and sounds of its
// show(), figures of its score().

/// Writes the output of show() for the first examples to options.picture, with sounds beside it.
/// @pre the step has a show(). @throws ConfigError for options about noise
void write_shown(TrainedJob& trained, const SampleOptions& options);

/// Prints the means of the step's figures over the first evaluation.images examples, or stores them
/// beside the checkpoint. The first figure decides.
/// @pre the step has a score(). @throws ConfigError for options about pictures
void evaluate_own(TrainedJob& trained, const EvaluateOptions& options);

/// Trains the feature network of FD-LeNet and writes its weights.
void train_features(const TrainFeaturesOptions& options);

/// Writes a network in Python by torch.export (.pt2) or torch.onnx (.onnx).
/// @throws CheckpointError, ConfigError: one line each
void export_python(const ExportOptions& options);

/// Parses "0-63" or "1,5,9-12" into seeds, in that order. @throws ConfigError naming `option` for
/// anything else and for more than 65,536 seeds
[[nodiscard]] std::vector<std::uint64_t> parse_seeds(std::string_view text,
                                                     std::string_view option = "--seeds");

}  // namespace gangway::launch
