// SPDX-License-Identifier: MIT
#include "launch/model/trained_run.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/safetensors.hpp"
#include "checkpoint/format/worker_file.hpp"
#include "checkpoint/store/commit.hpp"
#include "checkpoint/store/scan.hpp"
#include "checkpoint/store/scores.hpp"
#include "gan/evaluation/generate.hpp"
#include "job/file/fingerprint.hpp"
#include "job/file/parse.hpp"
#include "launch/model/commands.hpp"
#include "launch/model/feature_network.hpp"
#include "run/run_files.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/checkpoint/write_worker_file.hpp"
#include "tests/launch/model/script_network.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJob =
    "model: {family: mlp, width: 8, latent: 2}\ndata: {source: \"toy:ring8\"}\n";
constexpr const char* kOtherJob =
    "model: {family: mlp, width: 9, latent: 2}\ndata: {source: \"toy:ring8\"}\n";

constexpr const char* kTransferJob =
    "model: {family: johnson, width: 4, blocks: 1}\n"
    "training: {recipe: style-transfer, style: {picture: style.png}}\n"
    "features: {weights: features.safetensors}\n";

constexpr const char* kPairJob =
    "model: {family: unet, width: 4}\ntraining: {recipe: pix2pix}\n"
    "data: {source: \"edges:fashion-mnist\"}\n";

constexpr const char* kStackedJob =
    "model: {family: dcgan, width: 8, latent: 4, channels: 3}\n"
    "data: {source: \"stacked:fashion-mnist\"}\n";

struct Stored {
  std::int64_t step = 10;
  std::uint64_t seed = 1;  ///< of the values
  std::vector<std::string> prefixes = {"generator"};
  std::string job = kJob;      ///< job in the manifest
  std::string trained = kJob;  ///< job whose networks have the weights
};

void append_records(std::vector<checkpoint::TensorRecord>& records, gan::Network& network,
                    const std::string& prefix) {
  const auto record = [&](const std::string& name, const at::Tensor& tensor) {
    const auto elements = static_cast<std::size_t>(tensor.numel());
    records.push_back(
        {.name = prefix + name.substr(name.find('/')),
         .shape = tensor.sizes().vec(),
         .bytes = std::as_bytes(std::span(tensor.const_data_ptr<float>(), elements))});
  };
  for (const gan::Network::NamedParameter& named : network.parameters()) {
    record(named.name, named.parameter->tensor);
  }
  for (const gan::Network::NamedStatistic& named : network.statistics()) {
    record(named.name, named.statistic->running);
  }
}

/// Writes a run directory with one checkpoint, as a worker and the coordinator do. Values under the
/// n-th prefix depend on seed + n.
void store(const fs::path& run, const Stored& stored) {
  fs::create_directories(run);
  std::ofstream(run / kJobFile) << stored.trained;
  const JobSpec job = parse_job(stored.job, "test job");
  std::vector<PerNetwork<gan::Network>> versions;
  std::vector<checkpoint::TensorRecord> records;
  versions.reserve(stored.prefixes.size());
  for (const std::string& prefix : stored.prefixes) {
    versions.push_back(gan::build_networks(parse_job(stored.trained, "test job")));
    versions.back()[kGenerator].initialise(stored.seed + versions.size() - 1);
    append_records(records, versions.back()[kGenerator], prefix);
  }
  const fs::path checkpoints = run / kCheckpointsFolder;
  const fs::path temporary = checkpoint::begin_checkpoint(checkpoints, stored.step);
  const checkpoint::FileReport file =
      checkpoint::write_worker_file(temporary, {.step = stored.step}, records);
  checkpoint::Manifest manifest;
  manifest.step = stored.step;
  manifest.images = stored.step * 128;
  manifest.job_yaml = stored.job;
  manifest.job_fingerprint = job_fingerprint(job);
  manifest.model_fingerprint = model_fingerprint(job);
  manifest.numerics = numerics_text(job);
  manifest.data_fingerprint = std::string(32, '0');
  manifest.created = checkpoint::rfc3339(std::chrono::system_clock::now());
  manifest.files = {
      {.name = file.name, .worker = 0, .bytes = file.bytes, .xxh3_128 = file.xxh3_128}};
  checkpoint::commit_checkpoint(temporary, manifest);
}

at::Tensor expected_weight(std::uint64_t seed) {
  PerNetwork<gan::Network> networks = gan::build_networks(parse_job(kJob, "test job"));
  networks[kGenerator].initialise(seed);
  return networks[kGenerator].parameters().front().parameter->tensor.detach().clone();
}

TrainedRun open_trained_run(const RunChoice& choice) {
  return samples_of(open_trained_job(choice));
}

at::Tensor weight_of(TrainedRun& run) {
  return run.network.parameters().front().parameter->tensor.detach();
}

TEST(TrainedRun, LoadsTheAveragedGenerator) {
  const testing::ScratchFolder folder;
  store(folder.path() / "run", {.prefixes = {"generator", "generator_ema"}});
  TrainedRun run = open_trained_run({.run = (folder.path() / "run").string()});
  EXPECT_EQ(run.weights, WeightVersion::kAverage);
  EXPECT_TRUE(weight_of(run).equal(expected_weight(2)));
  EXPECT_EQ(run.step, 10);
  EXPECT_EQ(run.images, 1280);
}

TEST(TrainedRun, LoadsTheGeneratorWhereNoAverageIsKept) {
  const testing::ScratchFolder folder;
  store(folder.path() / "run", {});
  TrainedRun run = open_trained_run({.run = (folder.path() / "run").string()});
  EXPECT_EQ(run.weights, WeightVersion::kLast);
  EXPECT_TRUE(weight_of(run).equal(expected_weight(1)));
}

TEST(TrainedRun, TakesTheNewestCheckpointOrTheOneAskedFor) {
  const testing::ScratchFolder folder;
  const std::string run = (folder.path() / "run").string();
  store(run, {.step = 10, .seed = 1});
  store(run, {.step = 20, .seed = 2});
  TrainedRun newest = open_trained_run({.run = run});
  TrainedRun asked = open_trained_run({.run = run, .step = 10});
  EXPECT_TRUE(weight_of(newest).equal(expected_weight(2)));
  EXPECT_TRUE(weight_of(asked).equal(expected_weight(1)));
  EXPECT_THROW(static_cast<void>(open_trained_run({.run = run, .step = 15})), CheckpointError);
}

TEST(TrainedRun, HasNothingToDrawFromWhereItChangesPictures) {
  const testing::ScratchFolder folder;
  store(folder.path() / "run", {.job = kTransferJob, .trained = kTransferJob});
  try {
    static_cast<void>(open_trained_run({.run = (folder.path() / "run").string()}));
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("makes its pictures of other pictures"));
  }
  const fs::path checkpoints = folder.path() / "run" / kCheckpointsFolder;
  const fs::path newest = fs::directory_iterator(checkpoints)->path();
  EXPECT_EQ(load_network(newest, {}).network.name(), "generator");  // it can be exported
  EXPECT_EQ(load_network(newest / "", {}).directory, folder.path() / "run");
  EXPECT_EQ(load_network(newest / ".", {}).directory, folder.path() / "run");
}

TEST(TrainedRun, IsFoundByItsName) {
  const testing::ScratchFolder folder;
  store(folder.path() / "00003-ring", {});
  EXPECT_EQ(open_trained_run({.run = "ring", .outdir = folder.path()}).step, 10);
  EXPECT_THROW(static_cast<void>(open_trained_run({.run = "grid", .outdir = folder.path()})),
               ConfigError);
}

TEST(TrainedRun, WithoutACheckpointIsRefused) {
  const testing::ScratchFolder folder;
  fs::create_directories(folder.path() / "run");
  std::ofstream(folder.path() / "run" / kJobFile) << kJob;
  EXPECT_THROW(static_cast<void>(open_trained_run({.run = (folder.path() / "run").string()})),
               CheckpointError);
}

TEST(TrainedRun, WhoseTensorsDoNotFitItsModelNamesTheFirst) {
  const testing::ScratchFolder folder;
  store(folder.path() / "run", {.job = kOtherJob});
  try {
    static_cast<void>(open_trained_run({.run = (folder.path() / "run").string()}));
    FAIL() << "accepted";
  } catch (const CheckpointError& error) {
    EXPECT_NE(std::string(error.what()).find("generator/0/weight"), std::string::npos)
        << error.what();
  }
}

TEST(Evaluate, CountsTheModesOfAToyRun) {
  const testing::ScratchFolder folder;
  store(folder.path() / "run", {.prefixes = {"generator", "generator_ema"}});
  ::testing::internal::CaptureStdout();
  evaluate({.run = {.run = (folder.path() / "run").string()},
            .images = 500,
            .format = OutputFormat::kJson});
  const std::string line = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(line.find(R"("modes":8)"), std::string::npos) << line;
  EXPECT_NE(line.find(R"("weights":"generator_ema")"), std::string::npos) << line;
}

TEST(Evaluate, CountsTheModesOfStackedPictures) {
  const testing::ScratchFolder folder;
  const std::string run = (folder.path() / "run").string();
  store(run, {.job = kStackedJob, .trained = kStackedJob});
  const EvaluateOptions options{.run = {.run = run},
                                .images = 300,
                                .lenet = fs::path(GANGWAY_SHARE_DIR) / kFeatureWeightsName,
                                .format = OutputFormat::kJson};
  ::testing::internal::CaptureStdout();
  evaluate(options);
  const auto report = nlohmann::json::parse(::testing::internal::GetCapturedStdout());
  EXPECT_EQ(report["modes"], 1000);
  EXPECT_GE(report["covered"], 1);
  EXPECT_GT(report["covered_floor"], 200) << "of 300 real pictures";
  EXPECT_GT(report["kl_from_real"], report["kl_from_real_floor"]);
}

TEST(Evaluate, ComparesByANetworkOfTheUsers) {
  const testing::ScratchFolder folder;
  const fs::path run = folder.path() / "run";
  store(run, {.job = kStackedJob, .trained = kStackedJob});
  const fs::path network =
      testing::write_network(folder.path() / "means.pt",
                             "def forward(self, images):\n"
                             "    return torch.avg_pool2d(torch.to(images, 6), [16, 16])\n");
  EvaluateOptions options{.run = {.run = run.string()},
                          .images = 150,
                          .features = network,
                          .real = 200,
                          .format = OutputFormat::kJson};
  ::testing::internal::CaptureStdout();
  evaluate(options);
  const auto report = nlohmann::json::parse(::testing::internal::GetCapturedStdout());
  EXPECT_EQ(report["metric"], "FD-means.pt");
  EXPECT_GT(report["score"], report["floor"]);
  EXPECT_GT(report["kid"], report["kid_floor"]);
  EXPECT_EQ(report["features"], sha256_of_file(network));

  options.format = OutputFormat::kRecord;
  options.recorded = Metric::kKid;
  ::testing::internal::CaptureStdout();
  evaluate(options);
  (void)::testing::internal::GetCapturedStdout();
  const auto entries = checkpoint::list_checkpoints(run / kCheckpointsFolder);
  const auto scores = checkpoint::read_scores(run / kCheckpointsFolder, entries);
  ASSERT_TRUE(scores.contains(10));
  EXPECT_EQ(scores.at(10).metric, "KID-means.pt");
  EXPECT_EQ(scores.at(10).value, report["kid"].get<double>());
  EXPECT_EQ(scores.at(10).better, checkpoint::Better::kLower);
}

TEST(Evaluate, RefusesTooFewPicturesOfAnotherEngineAndThoseThatAreNotFinite) {
  const testing::ScratchFolder folder;
  store(folder.path() / "run", {.job = kStackedJob, .trained = kStackedJob});
  const auto complaint = [&](std::int64_t count, float value) -> std::string {
    const std::vector<float> values(static_cast<std::size_t>(count * 3 * 32 * 32), value);
    const fs::path made = folder.path() / std::to_string(count);
    (void)checkpoint::write_safetensors(
        made,
        std::vector<checkpoint::TensorRecord>{{.name = "output",
                                               .shape = {count, 3, 32, 32},
                                               .bytes = std::as_bytes(std::span(values))}},
        {});
    try {
      evaluate({.run = {.run = (folder.path() / "run").string()},
                .features = folder.path() / "means.pt",
                .format = OutputFormat::kRecord,
                .made = made});
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_THAT(complaint(99, 0.0F), ::testing::HasSubstr("99: has 99 pictures; a score needs 100"));
  EXPECT_THAT(complaint(100, std::numeric_limits<float>::quiet_NaN()),
              ::testing::HasSubstr("values that are not finite"));
}

TEST(Evaluate, PrintsNamesThatAreNoUtf8) {
  const testing::ScratchFolder folder;
  store(folder.path() / "run\xFF", {});
  ::testing::internal::CaptureStdout();
  evaluate({.run = {.run = (folder.path() / "run\xFF").string()}, .format = OutputFormat::kJson});
  EXPECT_TRUE(nlohmann::json::accept(::testing::internal::GetCapturedStdout()));
}

TEST(Sample, WritesAPicture) {
  const testing::ScratchFolder folder;
  store(folder.path() / "run", {});
  ::testing::internal::CaptureStdout();
  sample({.run = {.run = (folder.path() / "run").string()},
          .seeds = "0-99",
          .picture = folder.path() / "points.png"});
  EXPECT_NE(::testing::internal::GetCapturedStdout().find("100 examples"), std::string::npos);
  EXPECT_EQ(folder.read("points.png").substr(1, 3), "PNG");
}

TEST(Options, AreRefusedWhereTheySayNothingAboutPairs) {
  const testing::ScratchFolder folder;
  const RunChoice run{.run = (folder.path() / "run").string()};
  store(run.run, {.job = kPairJob, .trained = kPairJob});
  const auto complaint = [](const auto& command, const auto& options) -> std::string {
    try {
      command(options);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_THAT(
      complaint(evaluate, EvaluateOptions{.run = run, .of_images = {"--features", "--real"}}),
      ::testing::StartsWith("--features, --real: has no meaning for edges:fashion-mnist"));
  EXPECT_THAT(complaint(sample, SampleOptions{.run = run, .label = 3}),
              ::testing::StartsWith("--label: has no meaning for recipe pix2pix"));
}

}  // namespace
}  // namespace gangway::launch
