// SPDX-License-Identifier: MIT
#include "launch/model/program/model_program.hpp"

#include <exception>
#include <filesystem>
#include <map>
#include <string>

#include <ATen/Parallel.h>
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/system/output_check.hpp"
#include "gan/kernels/library_warnings.hpp"
#include "gan/kernels/vector_functions.hpp"
#include "job/choices.hpp"
#include "launch/model/commands.hpp"
#include "launch/model/feature_network.hpp"
#include "launch/model/follow_scores.hpp"
#include "launch/process/environment.hpp"
#include "launch/process/gpus.hpp"
#include "launch/process/positive_number.hpp"
#include "python/open/python_library.hpp"

namespace {

using gangway::Metric;
using gangway::launch::ApplyOptions;
using gangway::launch::BeginOptions;
using gangway::launch::ComputeOptions;
using gangway::launch::EvaluateOptions;
using gangway::launch::ExportOptions;
using gangway::launch::InputsOptions;
using gangway::launch::ModelProgram;
using gangway::launch::NetworksOptions;
using gangway::launch::RunChoice;
using gangway::launch::SampleOptions;
using gangway::launch::TimeOptions;
using gangway::launch::TrainFeaturesOptions;

constexpr std::int64_t kFewestSamples = 100;
constexpr std::int64_t kMostSamples = 1'000'000;
constexpr std::int64_t kMostImages = 100'000'000;

/// Replaces this process by the program for `device`, if `program` is for another kind.
void take_device(const ModelProgram& program, gangway::DeviceKind device) {
  if (device == gangway::DeviceKind::kCpu) {
    return;
  }
  if (gangway::launch::num_gpus() == 0) {
    throw gangway::EnvironmentError(
        "--device cuda: NVIDIA's driver shows no GPU on this host; leave it out, or use a host "
        "that has a GPU");
  }
  if (program.device != device) {
    gangway::launch::become("gangway-model-cuda", program.typed);
  }
  program.prepare();
}

void add_run_choice(CLI::App& command, RunChoice& choice, int& threads) {
  command.add_option("RUN", choice.run, "Run directory, or name of a run in --outdir")->required();
  command.add_option("--outdir", choice.outdir, "Where runs are kept")->capture_default_str();
  command.add_option("--step", choice.step,
                     "Checkpoint of this step (default: the newest valid one)");
  command.add_option("--threads", threads, "Compute threads")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  command
      .add_option_function<std::string>(
          "--device",
          [&choice](const std::string& word) {
            choice.device = word == "cuda" ? gangway::DeviceKind::kCuda : gangway::DeviceKind::kCpu;
          },
          "Device of the networks: cpu, or cuda, whose results differ in the last bits")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->default_str("cpu");
}

template <typename Value>
std::map<std::string, Value> words_of(Value value) {
  std::map<std::string, Value> words;
  for (const auto& choice : gangway::choices(value)) {
    words.emplace(choice.name, choice.value);
  }
  return words;
}

void add_formats(CLI::App& command, EvaluateOptions& options) {
  command.add_flag_callback(
      "--json", [&options] { options.format = gangway::launch::OutputFormat::kJson; },
      "One line of JSON instead of text");
  command.add_flag_callback(
      "--record", [&options] { options.format = gangway::launch::OutputFormat::kRecord; },
      "Store the scores of evaluation.metrics beside the checkpoint, for checkpoint.keep_best");
  command
      .add_option("--made", options.made,
                  "safetensors file with pictures that another engine made, `output`: prints "
                  "their deciding score (docs/deploying.md)")
      ->check(CLI::ExistingFile)
      ->each([&options](const std::string&) {
        options.format = gangway::launch::OutputFormat::kRecord;
      });
}

void add_evaluate(CLI::App& app, EvaluateOptions& options, int& threads,
                  const ModelProgram& program) {
  CLI::App* command = app.add_subcommand(
      "evaluate",
      "Print FD-LeNet of a run with floor and ceiling, KID, precision and recall; or the "
      "modes covered, of toy data and of stacked pictures");
  command->footer(
      "Examples:\n  gangway evaluate fashion-mnist\n"
      "  gangway evaluate photos --features inception-2015-12-05.pt --samples 50000 --real 50000\n"
      "  gangway evaluate photos --follow --threads 8      on a machine that does not train");
  add_run_choice(*command, options.run, threads);
  command
      ->add_option("--samples", options.images,
                   "Generated examples (default: evaluation.images of the job)")
      ->check(CLI::Range(kFewestSamples, kMostSamples));
  command->add_option("--features", options.features,
                      "TorchScript network; the score of the well-known Inception is FID "
                      "(docs/evaluation.md; default: evaluation.features of the job)");
  command
      ->add_option("--resize", options.resize,
                   "How pictures get the network's size: own, bilinear as pytorch-fid, clean as "
                   "clean-fid (default: evaluation.resize of the job)")
      ->transform(CLI::CheckedTransformer(words_of(gangway::FeatureResize{})));
  command
      ->add_option("--real", options.real,
                   "Training images to compare with (default: the test images, or else half of the "
                   "training images, 10,000 at most)")
      ->check(CLI::Range(kFewestSamples, kMostImages));
  add_formats(*command, options);
  command
      ->add_option("--metric", options.recorded,
                   "Score that --record stores instead: swd, fd (FID) or kid (default: "
                   "evaluation.metrics of the job)")
      ->transform(CLI::CheckedTransformer(std::map<std::string, Metric>{
          {"swd", Metric::kSwd}, {"fd", Metric::kFd}, {"kid", Metric::kKid}}));
  auto* follow = command->add_flag(
      "--follow", options.follows,
      "Score each new checkpoint until the run has ended (evaluation.where: spare)");
  command->add_flag("--await", options.awaits, "Until another process has scored --step")
      ->group("")
      ->needs("--step");
  follow->excludes("--step")->excludes("--json");
  command->callback([&options, &threads, &program, command] {
    take_device(program, options.run.device);
    for (const char* name : {"--features", "--resize", "--real", "--metric"}) {
      if (command->count(name) > 0) {
        options.of_images.emplace_back(name);
      }
    }
    at::set_num_threads(threads);
    if (options.follows) {
      gangway::launch::follow_scores(options);
    } else if (options.awaits) {
      gangway::launch::await_score(options);
    } else {
      gangway::launch::evaluate(options);
    }
  });
}

void add_sample(CLI::App& app, SampleOptions& options, int& threads, const ModelProgram& program) {
  CLI::App* command =
      app.add_subcommand("sample", "Write a grid of generated pictures, one per seed");
  command->footer(
      "Examples:\n"
      "  gangway sample fashion-mnist --seeds 0-63 -o grid.png\n"
      "  gangway sample fashion-mnist --seeds 0-15 --label 3 --captions\n"
      "  gangway sample faces --truncation 0.7                  (docs/evaluation.md)\n"
      "  gangway sample fashion-mnist --interpolate 3,8 --frames 24 --single frames/\n"
      "  gangway sample fashion-mnist --noise z.npy -o z.png    (docs/evaluation.md)");
  add_run_choice(*command, options.run, threads);
  CLI::Option* seeds =
      command
          ->add_option("--seeds", options.seeds,
                       "Seeds: 0-63 or 1,5,9-12; a seed gives the same picture in every grid")
          ->capture_default_str();
  CLI::Option* ends =
      command->add_option("--interpolate", options.interpolate,
                          "Two seeds A,B: pictures on the way from one to the other");
  ends->excludes(seeds);
  command->add_option("--frames", options.frames, "Number of pictures")
      ->capture_default_str()
      ->check(CLI::Range(2, 65'536))
      ->needs(ends);
  command
      ->add_option("--noise", options.noise,
                   ".npy file with your own noise, one row per picture (docs/evaluation.md)")
      ->check(CLI::ExistingFile)
      ->excludes(seeds)
      ->excludes(ends);
  CLI::Option* grid =
      command->add_option("-o,--output", options.picture, "PNG file")->capture_default_str();
  command
      ->add_option("--single", options.single,
                   "Folder for one file per picture, 0000.png and so on, instead of a grid")
      ->excludes(grid);
  command->add_option("--label", options.label,
                      "Label of all pictures (default: seed mod number of labels)");
  command->add_flag("--captions", options.has_captions,
                    "Write under each picture its seed, and after a colon its label");
  command
      ->add_option("--truncation", options.truncation,
                   "Truncation psi of stylegan2, from 1 (full variety) to 0 (the mean picture)")
      ->capture_default_str()
      ->check(CLI::Range(-2.0, 2.0));
  command->callback([&] {
    take_device(program, options.run.device);
    at::set_num_threads(threads);
    gangway::launch::sample(options);
  });
}

void add_inputs(CLI::App& app, InputsOptions& options, int& threads) {
  CLI::App* command =
      app.add_subcommand("inputs", "Write inputs of a run's generator, for other engines");
  command->footer("Example: gangway-model inputs fashion-mnist --evaluation -o in.safetensors");
  add_run_choice(*command, options.run, threads);
  command->add_option("--seeds", options.seeds, "Seeds, or numbers of training pictures")
      ->capture_default_str();
  CLI::Option* evaluation = command->add_flag("--evaluation", options.is_evaluation,
                                              "Those of `gangway evaluate` instead");
  command
      ->add_option("--samples", options.images,
                   "Their number (default: evaluation.images of the job)")
      ->check(CLI::Range(kFewestSamples, kMostSamples))
      ->needs(evaluation);
  command->add_option("-o,--output", options.file, "File to write; must not exist")->required();
  command->callback([&options] { gangway::launch::write_inputs(options); });
}

void add_time(CLI::App& app, TimeOptions& options, int& threads) {
  CLI::App* command = app.add_subcommand("time", "Time a run's generator, or write what it makes");
  command->footer("Example: gangway bench inference fashion-mnist starts it");
  add_run_choice(*command, options.run, threads);
  command->add_option("--inputs", options.inputs, "File of `gangway-model inputs`")
      ->check(CLI::ExistingFile)
      ->required();
  command->add_option("--batch", options.batch, "Examples a call")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_option("--seconds", options.seconds, "Seconds to measure")
      ->capture_default_str()
      ->check(gangway::launch::kPositiveNumber);
  command->add_option("--precision", options.precision, "fp32 or bf16")
      ->transform(CLI::CheckedTransformer(words_of(gangway::Precision{})));
  command->add_option("--made", options.made, "safetensors to write instead of timing");
  command->callback([&options, &threads] {
    at::set_num_threads(threads);
    gangway::launch::time_network(options);
  });
}

void add_apply(CLI::App& app, ApplyOptions& options, int& threads, const ModelProgram& program) {
  CLI::App* command = app.add_subcommand(
      "apply", "Change pictures of any size by a run of pix2pix, cyclegan or style-transfer");
  command->footer(
      "Examples:\n"
      "  gangway apply horses photos/ -o zebras/\n"
      "  gangway apply horses zebra.jpg -o horses/ --network generator_ba\n"
      "PNG, JPEG and WebP become PNG files of the same stem. Of two equal stems the second becomes "
      "stem-2.png. Each file that fails has a line, and the exit code is not 0.");
  add_run_choice(*command, options.run, threads);
  command->add_option("PICTURES", options.pictures, "Files, and folders of them")->required();
  command->add_option("-o,--output", options.output, "Folder of the results")->required();
  command->add_option("--network", options.network,
                      "Network of the job (default: the one whose results the run shows)");
  command
      ->add_option("--memory", options.memory_gib,
                   "GiB for maps; larger ones go into files without names in the output's folder")
      ->capture_default_str()
      ->check(gangway::launch::kPositiveNumber);
  command->callback([&] {
    take_device(program, options.run.device);
    at::set_num_threads(threads);
    gangway::launch::apply(options);
  });
}

void add_train_features(CLI::App& app, TrainFeaturesOptions& options) {
  CLI::App* command =
      app.add_subcommand("train-features", "Train the feature network of FD-LeNet again");
  command->footer(
      "Example: gangway-model train-features -o again.safetensors (docs/evaluation.md)");
  command->add_option("-o,--output", options.file, "File to write; must not exist")->required();
  command->callback([&] { gangway::launch::train_features(options); });
}

void add_export(CLI::App& app, ExportOptions& options) {
  CLI::App* command = app.add_subcommand("export", "Write a network in Python as a program");
  command->footer("Example: gangway checkpoints export mine -o generator.pt2");
  command->add_option("CHECKPOINT", options.checkpoint, "Folder of a checkpoint")->required();
  command->add_option("-o,--output", options.file, "File to write; must not exist")->required();
  command->add_option("--network", options.network, "Network of the job: generator, discriminator")
      ->required();
  command->add_flag_callback(
      "--last", [&options] { options.weights = gangway::launch::WeightVersion::kLast; },
      "The last weights instead of their average");
  command->callback([&] { gangway::launch::export_python(options); });
}

void add_networks(CLI::App& app, NetworksOptions& options) {
  CLI::App* command = app.add_subcommand(
      "networks", "Try the networks of a job and print how many parameters each has");
  command->footer("Example: gangway-model networks examples/infogan.yaml");
  command->add_option("JOB", options.job_file, "Job file")->required();
  command->callback([&] { gangway::launch::describe_networks(options); });
}

void add_begin(CLI::App& app, BeginOptions& options) {
  CLI::App* command = app.add_subcommand("begin", "Write a run that begins with given weights");
  command->footer("Example: gangway import network.pkl -o RUN starts it (docs/coming-from.md)");
  command->add_option("JOB", options.job_file, "Job file")->required();
  command->add_option("WEIGHTS", options.weights, "safetensors, by the names of checkpoints")
      ->required();
  command->add_option("RUN", options.run, "Run directory, which exists")->required();
  command->add_option("overrides", options.overrides, "Keys of the job file")
      ->type_name("key=value");
  command->callback([&] { gangway::launch::begin_run(options); });
}

void add_compute(CLI::App& app, ComputeOptions& options) {
  CLI::App* command =
      app.add_subcommand("compute", "Time each layer of a job, and compare with a core's limit");
  command->footer("Example: gangway bench compute examples/infogan.yaml numerics.precision=bf16");
  command->add_option("JOB", options.job_file, "Job file")->required();
  command->add_option("overrides", options.overrides, "Keys of the job file")
      ->type_name("key=value");
  command->add_option("--seconds", options.seconds, "Seconds per measured time")
      ->capture_default_str()
      ->check(gangway::launch::kPositiveNumber);
  command->add_flag_callback(
      "--json", [&options] { options.format = gangway::launch::OutputFormat::kJson; },
      "One line of JSON instead of text");
  command->callback([&options] {
    at::set_num_threads(1);
    gangway::launch::bench_compute(options);
  });
}

/// Reports an error under the name of the typed command.
int report(const std::string& message, gangway::ExitCode code) {
  fmt::print(stderr, "gangway: {}\n", message.substr(0, message.find('\n')));
  return static_cast<int>(code);
}

int run(int argc, char** argv, const ModelProgram& program) {
  CLI::App app("Gangway: samples and scores of trained models", "gangway-model");
  app.require_subcommand(1);
  EvaluateOptions evaluate;
  evaluate.lenet = gangway::launch::share_folder() / gangway::launch::kFeatureWeightsName;
  SampleOptions sample;
  InputsOptions inputs;
  TimeOptions time;
  ApplyOptions apply;
  TrainFeaturesOptions train_features;
  ExportOptions export_options;
  NetworksOptions networks;
  BeginOptions begin;
  ComputeOptions compute;
  int threads = 2;
  add_evaluate(app, evaluate, threads, program);
  add_sample(app, sample, threads, program);
  add_inputs(app, inputs, threads);
  add_time(app, time, threads);
  add_apply(app, apply, threads, program);
  add_train_features(app, train_features);
  add_export(app, export_options);
  add_networks(app, networks);
  add_begin(app, begin);
  int code = static_cast<int>(gangway::ExitCode::kDone);
  gangway::launch::add_profile_command(app, program, code);
  add_compute(app, compute);
  try {
    app.parse(argc, argv);
    return code;
  } catch (const CLI::Success& success) {  // --help
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return report(std::string(error.what()) + "; see --help", gangway::ExitCode::kUsage);
  }
}

}  // namespace

namespace gangway::launch {

int run_model_program(int argc, char** argv, const ModelProgram& program) {
  gangway::gan::LibraryWarnings warnings(
      [](const std::string& line) { fmt::print(stderr, "note   {}\n", line); });
  warnings.listen();
  gangway::gan::choose_vector_kernels();
  int code = 0;
  try {
    code = run(argc, argv, program);
    if (code == 0) {
      gangway::require_output_taken();
    }
  } catch (const gangway::Error& error) {
    code = report(error.what(), error.code());
  } catch (const std::exception& error) {
    code = report(std::string("internal error: ") + error.what(), gangway::ExitCode::kInternal);
  }
  gangway::python::leave_with_python(code);
  return code;
}

}  // namespace gangway::launch
