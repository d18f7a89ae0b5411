// SPDX-License-Identifier: MIT
#include "job/estimate/dry_run.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/ranges.h>

#include "base/errors.hpp"
#include "base/rank.hpp"
#include "job/families/families.hpp"
#include "job/file/fingerprint.hpp"
#include "job/file/parse.hpp"
#include "job/layout/layout.hpp"

namespace gangway {
namespace {

constexpr std::int64_t kBytesPerNumber = 4;
/// Bytes per element of feature maps in bf16 and fp16.
constexpr std::int64_t kBytesPerHalf = 2;
/// Resident memory beside the tensors: 111 MiB once LibTorch is loaded, about 180 more after the
/// first steps of a DCGAN-32 (kernels, thread pools, allocator); torch 2.11.0 on CPU, one thread.
constexpr std::int64_t kProcessBytes = 300LL << 20U;
/// Copies of a feature map alive at the peak (input, normalized, output, gradient). This gives 1.08
/// MB per image for DCGAN-32; measured: 1.06, from micro-batches of 2 and of 128.
constexpr std::int64_t kKeptPerElement = 4;
/// Share of the feature maps that stays from forward to backward under layout.recompute: a chunk's
/// input and output, once each. Neither is larger than the first level, half of all maps.
constexpr double kCrossingShare = 1.0 / static_cast<double>(kKeptPerElement);

/// Returns the elements of one image's feature maps in one network. Maps shrink fourfold and
/// channels double per level, so the sum is below twice the first level.
std::int64_t feature_elements(const ModelSpec& model) {
  if (model.family->feature_elements != nullptr) {
    return model.family->feature_elements(model);
  }
  if (model.family->makes_points) {
    return std::int64_t{3} * model.width + 2;
  }
  const std::int64_t side = model.resolution / 2;
  const std::int64_t image = std::int64_t{model.resolution} * model.resolution * model.channels;
  return image + 2 * side * side * model.width;
}

/// Returns the elements per example that layout.recompute computes again: the inner maps of
/// transformers, but those of the largest layer, which is open at a time. 0 for other blocks,
/// because nearly all their maps flow from one to the next.
std::int64_t elements_made_again(const Architecture& network) {
  std::int64_t tokens = 0;
  std::int64_t all = 0;
  std::int64_t largest = 0;
  for (const BlockSpec& block : network.blocks) {
    if (const auto* grid = std::get_if<TokenGridSpec>(&block)) {
      tokens = grid->side * grid->side;
    } else if (const auto* patches = std::get_if<PatchEmbeddingSpec>(&block)) {
      tokens = 1 + patches->side * patches->side;
    } else if (const auto* layer = std::get_if<TransformerSpec>(&block)) {
      // As in gat_feature_elements, without the tokens that flow to the next block.
      const std::int64_t inside =
          tokens * (5 * layer->width + 3 * layer->hidden + layer->heads * tokens);
      all += inside;
      largest = std::max(largest, inside);
    }
  }
  return all - largest;
}

/// Same under layout.recompute with whole networks. Networks with statistics recompute in one
/// piece, and a penalty keeps all blocks, so they save nothing.
std::int64_t remade_elements(const Job& spec, const PerNetwork<Architecture>& networks) {
  const TrainingSpec& training = spec.training;
  const std::int64_t all = feature_elements(spec.model);
  if (training.penalty.is_any() || training.path_length.is_any() || training.reuse_fakes) {
    return all;
  }
  std::int64_t again = all;
  for (const Architecture& network : networks) {
    again = std::min(again, statistic_names(network).empty() ? elements_made_again(network) : 0);
  }
  return all - again;
}

/// Returns the bytes per element, summed over the networks whose maps are alive at once: at most
/// two, those with the largest formats.
std::int64_t bytes_of_feature_maps(const Job& spec, const PerNetwork<Architecture>& networks) {
  std::vector<std::int64_t> bytes;
  for (const NetworkId id : networks.ids()) {
    if (python_in(networks[id]) == nullptr) {
      bytes.push_back(is_half_size(spec.networks[id].precision) ? kBytesPerHalf : kBytesPerNumber);
    }
  }
  std::ranges::sort(bytes, std::greater());
  bytes.resize(std::min<std::size_t>(2, bytes.size()));
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

std::string bytes_text(std::int64_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / (1U << 20U);
  return mebibytes < 10 ? fmt::format("{:.1f} MiB", mebibytes)
                        : fmt::format("{:.0f} MiB", mebibytes);
}

/// Returns "66048"; for a network not built yet: "of nets.py, counted when the run starts".
std::string count_text(const Architecture& network) {
  const PythonSpec* python = python_in(network);
  return python != nullptr && !python->num_parameters
             ? fmt::format("of {}, counted when the run starts", python->file)
             : std::to_string(num_parameters(network));
}

std::string placement_table(const JobSpec& spec, int workers) {
  const Layout groups = resolve_layout(spec, workers);
  std::string text = fmt::format("  {:>4}  {:<11}  {}\n", "rank", "role", "micro-batches");
  text += fmt::format("  {:>4}  {:<11}  {}\n", 0, "coordinator", "-");
  for (int worker = 0; worker < workers; ++worker) {
    const MicrobatchRange range = groups.range_of(worker);
    const std::string networks = groups.held_by(worker, spec.network_names());
    const std::string held = range.size() == 1 ? std::to_string(range.begin)
                                               : fmt::format("{}-{}", range.begin, range.end - 1);
    text += fmt::format("  {:>4}  {:<11}  {}\n", rank_of(WorkerIndex(worker)),
                        networks.empty() ? "worker" : networks, held);
  }
  return text;
}

Layout with_recompute(Layout layout) {
  layout.recompute = true;
  return layout;
}

std::string memory_table(const JobSpec& spec, int workers) {
  const Layout layout = resolve_layout(spec, workers);
  const MemoryEstimate memory = estimate_memory(spec, layout);
  std::string text;
  const auto row = [&](std::string_view what, std::int64_t bytes) {
    text += fmt::format("  {:<22} {:>10}\n", what, bytes_text(bytes));
  };
  row("weights", memory.weights_bytes);
  row("gradients", memory.gradients_bytes);
  row("optimiser (own slice)", memory.optimizer_bytes);
  row("activations", memory.activations_bytes);
  if (memory.pools_bytes > 0) {
    row("pools of images", memory.pools_bytes);
  }
  if (memory.recorded_bytes > 0) {
    row("recorded steps", memory.recorded_bytes);
  }
  const bool on_gpu = spec.numerics.device == DeviceKind::kCuda;
  row(on_gpu ? "GPU context" : "process and libraries", memory.process_bytes);
  row(on_gpu ? "GPU total" : "total", memory.total_bytes());
  if (on_gpu) {
    row("host, in addition", memory.host_bytes);
  }
  if (recompute_saves(spec, layout)) {
    text += fmt::format("  (with layout.recompute, for about a third more time, {})\n",
                        bytes_text(estimate_memory(spec, with_recompute(layout)).total_bytes()));
  }
  if (layout.is_cut() && workers <= spec.training.microbatches) {
    JobSpec uncut = spec;
    uncut.layout.stages = 1;
    for (NetworkPlacement& network : uncut.layout.networks) {
      network.cuts.reset();
    }
    if (const MemoryEstimate whole = estimate_memory(uncut, workers);
        whole.total_bytes() < memory.total_bytes()) {
      text += fmt::format(
          "  ({} on as many workers with whole networks; layout.in_flight or layout.recompute keep "
          "less)\n",
          bytes_text(whole.total_bytes()));
    }
  }
  for (const NetworkSpec& network : spec.networks) {
    if (!network.module.file.empty()) {
      text += fmt::format("  (without the activations of model.{})\n", network.name);
    }
  }
  return text;
}

/// Part of a network that a worker holds.
struct HeldPart : DevicePart {
  double blocks = 0.0;  ///< share of the network's blocks; 0: the worker holds none
};

HeldPart held_part(const Job& job, const Architecture& network, const NetworkGroup& group,
                   int worker) {
  HeldPart part;
  const std::optional<ChunkIndex> chunk = group.chunk_of(worker);
  if (!chunk) {
    return part;
  }
  part.parameters = part.held = num_parameters(network);
  part.range = group.range_of(worker);
  part.members = static_cast<int>(group.workers.size()) / group.num_chunks();
  part.blocks = 1.0;
  if (group.is_cut()) {
    const BlockRange range = group.chunks[chunk->place()];
    part.held = num_parameters(Architecture{
        .blocks = {network.blocks.begin() + range.begin, network.blocks.begin() + range.end}});
    part.blocks =
        static_cast<double>(range.end - range.begin) / static_cast<double>(network.blocks.size());
  }
  if (job.numerics.device == DeviceKind::kCuda) {
    for (const MicrobatchRange range : group.group_of(*chunk).ranges) {
      part.other_sums += range == part.range ? 0 : device_sums(range, job.training.microbatches);
    }
  }
  return part;
}

/// Activations if some worker lacks a network or a part: the forwards of a phase's micro-batches,
/// or of at most `in_flight`, wait for their backwards. Under layout.recompute only the micro-batch
/// in backward has all its activations.
std::int64_t kept_activations(std::int64_t of_a_microbatch, const std::vector<HeldPart>& parts,
                              int in_flight, bool recomputes) {
  double kept = 0.0;
  double remade = 0.0;
  for (const HeldPart& part : parts) {
    const int waiting = std::min(part.range.size(), in_flight);
    kept += part.blocks * waiting;
    remade += waiting == 0 ? 0.0 : part.blocks + kCrossingShare * waiting;
  }
  const auto bytes = [&](double share) {
    return static_cast<std::int64_t>(static_cast<double>(of_a_microbatch) * share /
                                     static_cast<double>(parts.size()));
  };
  return recomputes ? std::min(bytes(kept), bytes(remade)) : bytes(kept);
}

/// Returns the bytes of a teacher's maps of a micro-batch. None waits for a backward, so a layer's
/// input and output are alive at a time; the largest level is half of all maps.
std::int64_t teacher_bytes(const Job& spec, const PerNetwork<Architecture>& networks,
                           const std::vector<HeldPart>& parts) {
  ModelSpec model = spec.model;
  model.width = spec.training.distill.teacher_width;
  std::int64_t bytes = 0;
  for (const NetworkId id : networks.ids()) {
    const auto index = static_cast<std::size_t>(id);
    if (spec.training.recipe->networks[index].is_teacher && parts[index].range.size() > 0 &&
        python_in(networks[id]) == nullptr) {
      bytes += (is_half_size(spec.networks[id].precision) ? kBytesPerHalf : kBytesPerNumber) *
               feature_elements(model) * spec.images_per_microbatch();
    }
  }
  return bytes;
}

MemoryEstimate memory_of(const Job& spec, const PerNetwork<Architecture>& networks,
                         const Layout& layout, int worker) {
  MemoryEstimate memory;
  std::vector<HeldPart> parts;
  for (const NetworkId id : networks.ids()) {
    const HeldPart part = held_part(spec, networks[id], layout[id], worker);
    const NetworkSpec& network = spec.networks[id];
    parts.push_back(part);
    if (spec.numerics.device == DeviceKind::kCuda) {
      if (part.blocks > 0.0) {
        add_device_part(spec, layout, id, part, memory);
      }
      continue;
    }
    // Every worker makes or reads all weights before it keeps its part.
    memory.weights_bytes += kBytesPerNumber * num_parameters(networks[id]);
    if (network.is_frozen || part.range.size() == 0) {
      continue;
    }
    // The stack of partial sums is as deep as the tree over the local micro-batches (comm/).
    const std::int64_t partials = std::bit_width(static_cast<unsigned>(part.range.size())) - 1;
    memory.weights_bytes += network.is_averaged() ? kBytesPerNumber * part.held : 0;
    memory.gradients_bytes += kBytesPerNumber * part.held * (1 + partials);
    memory.optimizer_bytes += kBytesPerNumber *
                              static_cast<std::int64_t>(num_moments(network.optimizer.kind)) *
                              part.held / part.members;
  }
  // A user's network has unknown feature maps before it runs.
  memory.activations_bytes =
      bytes_of_feature_maps(spec, networks) * kKeptPerElement *
      (layout.recompute && !layout.is_apart() ? remade_elements(spec, networks)
                                              : feature_elements(spec.model)) *
      spec.images_per_microbatch();
  if (layout.is_apart()) {
    const int most = layout.most_in_flight();
    const int in_flight = most > 0 && layout.is_cut() ? most : spec.training.microbatches;
    memory.activations_bytes =
        kept_activations(memory.activations_bytes, parts, in_flight, layout.recompute);
  }
  memory.activations_bytes += teacher_bytes(spec, networks, parts);
  if (spec.training.recipe->has_pools) {
    constexpr std::int64_t kSides = 2;
    memory.pools_bytes = kBytesPerNumber * kSides * spec.training.microbatches *
                         spec.training.translation.pool * spec.model.channels *
                         spec.model.resolution * spec.model.resolution;
  }
  memory.process_bytes = kProcessBytes;
  if (spec.numerics.device == DeviceKind::kCuda) {
    const int at_once = recorded_at_once(spec, layout, layout.range_of(worker));
    memory.recorded_bytes = memory.activations_bytes * at_once;
    memory.process_bytes = kDeviceContextBytes + kProductWorkspaceBytes * std::max(1, at_once);
    memory.host_bytes += kDeviceProcessBytes;
  }
  return memory;
}

}  // namespace

std::vector<MemoryEstimate> estimate_workers(const Job& job, const Layout& layout) {
  const PerNetwork<Architecture> networks = job.architectures();
  std::vector<MemoryEstimate> workers;
  for (int worker = 0; worker < layout.num_workers(); ++worker) {
    workers.push_back(memory_of(job, networks, layout, worker));
  }
  return workers;
}

MemoryEstimate estimate_memory(const Job& job, const Layout& layout) {
  return std::ranges::max(estimate_workers(job, layout), {}, &MemoryEstimate::total_bytes);
}

bool recompute_saves(const Job& job, const Layout& layout) {
  constexpr double kWorthIt = 0.95;  // a smaller saving is within the estimate's error
  return !layout.recompute &&
         static_cast<double>(estimate_memory(job, with_recompute(layout)).total_bytes()) <
             kWorthIt * static_cast<double>(estimate_memory(job, layout).total_bytes());
}

void require_workers(const JobSpec& spec, int workers) {
  if (workers < 1) {
    throw ConfigError(fmt::format(
        "{} workers: a job needs at least one; start mpirun with -n 2 or more (one rank "
        "coordinates), or gangway run with -n 1 or more",
        workers));
  }
  require_few_device_sums(spec, resolve_layout(spec, workers));
  if (spec.layout.data != 0 && spec.layout.data != workers) {
    throw ConfigError(fmt::format(
        "layout.data asks for {} workers, but {} were started; use -n {} or layout.data=auto",
        spec.layout.data, workers, spec.layout.data));
  }
}

std::string describe_dry_run(const JobSpec& spec, int workers, const std::string& memory) {
  require_workers(spec, workers);
  std::string text = chosen_yaml(spec);
  text += fmt::format("\nPlacement: {} worker{}, {} micro-batch{} of {} image{}\n", workers,
                      workers == 1 ? "" : "s", spec.training.microbatches,
                      spec.training.microbatches == 1 ? "" : "es", spec.images_per_microbatch(),
                      spec.images_per_microbatch() == 1 ? "" : "s");
  text += placement_table(spec, workers);
  text +=
      fmt::format("\nSteps: {} of {} real images\n", spec.total_steps(), spec.images_per_step());
  std::vector<std::string> counts;
  for (const Architecture& network : spec.architectures()) {
    counts.push_back(fmt::format("{} {}", network.name, count_text(network)));
  }
  text += fmt::format("Parameters: {}\n", fmt::join(counts, ", "));
  if (const std::string inexact = declared_inexactness(spec); !inexact.empty()) {
    text += fmt::format("Numerics: {}\n", inexact);
  }
  return text + "\nMemory of the largest worker " +
         (memory.empty() ? "(estimate)\n" + memory_table(spec, workers) : memory);
}

}  // namespace gangway
