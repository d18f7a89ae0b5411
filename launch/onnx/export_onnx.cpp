// SPDX-License-Identifier: MIT
#include "launch/onnx/export_onnx.hpp"

#include <array>
#include <cstddef>
#include <iostream>
#include <span>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "checkpoint/format/stored_state.hpp"
#include "gan/layer_noise.hpp"
#include "job/file/parse.hpp"
#include "job/primitives/primitives.hpp"
#include "launch/onnx/onnx_model.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

std::vector<float> constant_noise(std::size_t block, const Shape& shape) {
  const KeyedRandom random(constant_noise_key(static_cast<std::int32_t>(block)));
  const auto count = static_cast<std::size_t>(shape[2] * shape[3]);
  std::vector<float> values(count);
  for (std::size_t group = 0; group * 4 < count; ++group) {  // a side is a multiple of four
    random.normal4(group, values.data() + group * 4);
  }
  return values;
}

std::vector<float> stored_values(checkpoint::StoredState& state, const std::string& name,
                                 const Shape& shape) {
  const checkpoint::StoredTensor& stored = state.require(name);
  if (stored.type != checkpoint::ElementType::kF32 || stored.shape != shape) {
    throw CheckpointError(fmt::format(
        "{}: tensor '{}' is {} [{}], the model wants F32 [{}]; was it saved by another model?",
        state.path().string(), name, checkpoint::type_name(stored.type),
        fmt::join(stored.shape, ", "), fmt::join(shape, ", ")));
  }
  std::vector<float> values(stored.num_elements());
  state.read_row_major(stored, std::as_writable_bytes(std::span(values)));
  return values;
}

/// @throws EnvironmentError if the file is there: its content may be wanted
void require_new(const fs::path& file) {
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(file, ignored))) {
    throw EnvironmentError(file.string() + ": exists already; name a new file");
  }
}

}  // namespace

void export_onnx(const OnnxExport& options) {
  require_new(options.file);
  checkpoint::StoredState state(options.checkpoint);
  const checkpoint::Manifest& manifest = state.manifest();
  const fs::path run = fs::absolute(options.checkpoint).parent_path().parent_path();
  const JobSpec job = parse_job(manifest.job_yaml, options.checkpoint.string() + " (job)", run,
                                options.checkpoint / checkpoint::kManifestName);
  const Architecture network = job.architectures()[job.chosen(options.network)];
  const std::string average = network.name + "_ema/";
  const auto is_of_average = [&](const auto& tensor) { return tensor.name.starts_with(average); };
  const bool is_average = !options.last && std::ranges::any_of(state.tensors(), is_of_average);
  const PrimitiveGraph graph = primitives_of(
      network, job.settled_model(), job.growth_level(manifest.images),
      [&](std::size_t block, const std::string& name, const Shape& shape) {
        return name == kConstantNoise
                   ? constant_noise(block, shape)
                   : stored_values(state,
                                   fmt::format("{}{}/{}", is_average ? average : network.name + "/",
                                               block, name),
                                   shape);
      });
  const char* const weights = is_average ? "average" : "last";
  // A killed export leaves only FILE.tmp, which the next one overwrites.
  write_file_atomically(options.file,
                        onnx_model(graph, network.name,
                                   {{"gangway.network", network.name},
                                    {"gangway.weights", weights},
                                    {"gangway.step", std::to_string(manifest.step)},
                                    {"gangway.images", std::to_string(manifest.images)},
                                    {"gangway.job.yaml", manifest.job_yaml}}));
  const auto millions = static_cast<double>(multiply_adds(graph)) / 1e6;
  std::cout << fmt::format(
                   "{}: ONNX, {} weights of the {} at step {}; {:.4g} million multiply-adds "
                   "an example\n",
                   options.file.string(), weights, network.name, manifest.step, millions)
            << std::flush;
}

}  // namespace gangway::launch
