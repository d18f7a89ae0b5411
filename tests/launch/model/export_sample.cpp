// SPDX-License-Identifier: MIT
// Makes a run with one checkpoint, and writes what its shown network makes of given inputs, for
// export_test.py and tests/launch/onnx/engines.py.
//
//   export_sample RUN_DIRECTORY EXPECTED.safetensors JOB_TEXT
#include <cstdio>
#include <deque>
#include <exception>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/safetensors.hpp"
#include "checkpoint/format/worker_file.hpp"
#include "checkpoint/store/commit.hpp"
#include "gan/blocks/build_networks.hpp"
#include "gan/torch.hpp"
#include "job/file/fingerprint.hpp"
#include "job/file/parse.hpp"
#include "run/run_files.hpp"
#include "tests/checkpoint/write_worker_file.hpp"

namespace {

using namespace gangway;
namespace fs = std::filesystem;

constexpr std::int64_t kExamples = 32;
constexpr std::int64_t kImages = 17'000;  // shown images: growing networks are within a fade

/// Named tensors as records; owns their memory.
class Records {
 public:
  void add(const std::string& name, const at::Tensor& tensor) {
    kept_.push_back(tensor.detach().to(at::kFloat).contiguous());
    const at::Tensor& held = kept_.back();
    records_.push_back({.name = name,
                        .shape = held.sizes().vec(),
                        .bytes = std::as_bytes(std::span(held.const_data_ptr<float>(),
                                                         static_cast<std::size_t>(held.numel())))});
  }
  void add(gan::Network& network, const std::string& prefix) {
    for (const auto& named : network.parameters()) {
      add(prefix + named.name.substr(named.name.find('/')), named.parameter->tensor);
    }
    for (const auto& named : network.statistics()) {
      add(prefix + named.name.substr(named.name.find('/')), named.statistic->running);
    }
  }
  [[nodiscard]] std::span<const checkpoint::TensorRecord> records() const { return records_; }

 private:
  std::deque<at::Tensor> kept_;
  std::vector<checkpoint::TensorRecord> records_;
};

/// Sets small means of both signs, because large ones would leave nothing behind a ReLU.
void set_statistics(gan::Network& network) {
  for (const auto& named : network.statistics()) {
    const at::Tensor waves = at::arange(named.statistic->running.numel(), at::kFloat).sin();
    named.statistic->running.copy_(named.name.ends_with("running_mean") ? waves * 0.01
                                                                        : waves.abs() + 0.3);
  }
}

void write_checkpoint(const fs::path& run, const JobSpec& job, const std::string& text,
                      const Records& state) {
  fs::create_directories(run);
  std::ofstream(run / kJobFile) << text;
  const fs::path temporary = checkpoint::begin_checkpoint(run / kCheckpointsFolder, 7);
  const auto file = checkpoint::write_worker_file(temporary, {.step = 7}, state.records());
  checkpoint::Manifest manifest;
  manifest.step = 7;
  manifest.images = kImages;
  manifest.job_yaml = text;
  manifest.job_fingerprint = job_fingerprint(job);
  manifest.model_fingerprint = model_fingerprint(job);
  manifest.numerics = numerics_text(job);
  manifest.data_fingerprint = std::string(32, '0');
  manifest.created = "2026-11-21T10:36:00Z";
  manifest.files = {
      {.name = file.name, .worker = 0, .bytes = file.bytes, .xxh3_128 = file.xxh3_128}};
  checkpoint::commit_checkpoint(temporary, manifest);
}

/// Returns examples of "image" or "noise", by the input that the network takes.
gan::NamedTensors inputs_of(gan::Network& network, const ModelSpec& model, std::int64_t width) {
  const auto waves = [](at::IntArrayRef shape) {
    return at::arange(c10::multiply_integers(shape), at::kFloat).sin_().reshape(shape);
  };
  const gan::NamedTensors labels{
      {"labels", at::arange(kExamples).remainder(std::max(1, model.classes))}};
  return network.block(0).ports().inputs.front() == "image"
             ? labels.with("image", waves({kExamples, model.channels, model.resolution, width}))
             : labels.with("noise", waves({kExamples, model.inputs()}));
}

void make(const fs::path& run, const fs::path& expected, const std::string& text) {
  const at::NoGradGuard no_grad;
  const JobSpec job = parse_job(text, "sample job");
  PerNetwork<gan::Network> last = gan::build_networks(job);
  PerNetwork<gan::Network> all_averages = gan::build_networks(job);
  gan::Network& average = all_averages[job.shown_network()];
  average.initialise(2);
  average.grow_to(job.growth_level(kImages));
  set_statistics(average);
  Records state;
  for (gan::Network& network : last) {
    network.initialise(1);
    state.add(network, network.name());
  }
  state.add(average, average.name() + "_ema");
  write_checkpoint(run, job, text, state);
  Records outputs;
  for (const std::int64_t factor : {1, 2}) {  // translators take pictures of other sizes, too
    const std::string wide = factor == 1 ? "" : "wide_";
    const gan::NamedTensors in = inputs_of(average, job.model, factor * job.model.resolution);
    for (const auto& [name, tensor] : in.entries()) {
      outputs.add(wide + name, tensor);
    }
    outputs.add(wide + "examples", average.forward(in, {.mode = gan::Mode::kEvaluation}));
  }
  for (const auto& named : average.parameters()) {
    outputs.add("weights/" + named.name.substr(named.name.find('/') + 1), named.parameter->tensor);
  }
  checkpoint::write_safetensors(expected, outputs.records(), {});
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    make(words.at(0), words.at(1), words.at(2));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "export_sample: %s\n", error.what());
    return 1;
  }
}
