// SPDX-License-Identifier: MIT
#include "job/estimate/device_estimate.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "job/blocks/progressive/growth.hpp"
#include "job/models/recipes.hpp"

namespace gangway {
namespace {

constexpr std::int64_t kFloat = 4;
constexpr std::int64_t kHalf = 2;

std::int64_t num_buckets(const Layout& layout, std::int64_t parameters) {
  return layout.buckets > 0
             ? layout.buckets
             : std::clamp<std::int64_t>(kFloat * parameters / kLeastBucketBytes, 1, kMostBuckets);
}

/// @pre the job has a step of the user's
std::string why_own_step_is_not_recorded(const Job& job) {
  if (job.data.takes == ExampleKind::kAny) {
    return "the examples of training.step are tensors of your own, which the host loads";
  }
  if (job.training.own.phases.empty()) {
    return "training.step has not been opened yet";
  }
  for (const OwnPhase& phase : job.training.own.phases) {
    if (!phase.is_captured) {
      return fmt::format("phase {} of training.step is not marked capture=True", phase.name);
    }
  }
  return {};
}

/// Counts the whole subtrees of `node` (comm/arena/reduction_tree.hpp) that make up `range`.
int subtrees_in(MicrobatchRange range, MicrobatchRange node) {
  if (range.end <= node.begin || node.end <= range.begin) {
    return 0;
  }
  if (range.begin <= node.begin && node.end <= range.end) {
    return 1;
  }
  const int middle = node.begin + node.size() / 2;
  return subtrees_in(range, {node.begin, middle}) + subtrees_in(range, {middle, node.end});
}

/// Leaves are added from the left; those that wait for a sibling stay beside the open leaf.
int buffers_in(MicrobatchRange range, MicrobatchRange node) {
  if (range.end <= node.begin || node.end <= range.begin) {
    return 0;
  }
  if (node.size() == 1) {
    return 1;
  }
  const int middle = node.begin + node.size() / 2;
  const MicrobatchRange left{node.begin, middle};
  return std::max(buffers_in(range, left),
                  subtrees_in(range, left) + buffers_in(range, {middle, node.end}));
}

}  // namespace

int device_sums(MicrobatchRange range, int microbatches) {
  return subtrees_in(range, {0, microbatches});
}

int gradient_buffers(MicrobatchRange range, int microbatches) {
  return buffers_in(range, {0, microbatches});
}

void require_few_device_sums(const JobSpec& spec, const Layout& layout) {
  if (spec.numerics.device != DeviceKind::kCuda || spec.numerics.order != SumOrder::kTree) {
    return;
  }
  int most = 0;
  for (const NetworkGroup& group : layout) {
    for (ChunkIndex chunk; chunk.value() < group.num_chunks(); ++chunk) {
      int sums = 0;
      for (const MicrobatchRange range : group.group_of(chunk).ranges) {
        sums += device_sums(range, spec.training.microbatches);
      }
      most = std::max(most, sums);
    }
  }
  if (most > kMostDeviceSums) {
    throw ConfigError(fmt::format(
        "the workers of a network bring {} sums of training.microbatches {}, and a GPU adds up {} "
        "at most; use fewer workers, or a power of two of them that divides the micro-batches, so "
        "that each brings one",
        most, spec.training.microbatches, kMostDeviceSums));
  }
}

void add_device_part(const Job& job, const Layout& layout, NetworkId network,
                     const DevicePart& part, MemoryEstimate& memory) {
  const NetworkSpec& own = job.networks[network];
  const std::int64_t moments =
      own.is_frozen ? 0 : static_cast<std::int64_t>(num_moments(own.optimizer.kind));
  const std::int64_t average = own.is_averaged() ? 1 : 0;
  memory.weights_bytes += kFloat * part.held;
  memory.host_bytes += kFloat * part.parameters * (1 + moments + average);
  if (own.is_frozen) {
    return;
  }
  const bool is_tree = job.numerics.order == SumOrder::kTree;
  const std::int64_t updated = is_tree ? part.held / part.members : part.held;
  memory.weights_bytes += kFloat * updated * average;
  memory.optimizer_bytes += kFloat * updated * moments;
  const int sums = device_sums(part.range, job.training.microbatches);
  memory.gradients_bytes +=
      kFloat * part.held * gradient_buffers(part.range, job.training.microbatches);
  if (const int branches = recorded_at_once(job, layout, part.range);
      branches > 1) {  // a leaf of each
    memory.gradients_bytes += kFloat * part.parameters * branches;
  }
  if (is_tree) {
    const bool rounds = own.wire != WireFormat::kFp32;
    memory.gradients_bytes += (rounds ? kHalf : kFloat) * updated * part.other_sums;
    memory.gradients_bytes += rounds ? (kHalf + kFloat) * part.parameters * sums : 0;
  }
  // The buffers of reported updates (worker/cuda/shown_updates.hpp) hold two slices. A chunk may
  // have no parameters. The product of two large numbers does not fit 64 bits.
  memory.gradients_bytes +=
      static_cast<std::int64_t>(static_cast<__int128>(2 * kFloat * updated) * part.parameters /
                                std::max<std::int64_t>(1, part.held)) /
      num_buckets(layout, part.parameters);
  if (!is_tree || job.agrees_on_updates(network)) {  // the mean
    memory.gradients_bytes += kFloat * part.parameters;
  }
}

std::string why_not_recorded(const Job& job, const Layout& layout) {
  const TrainingSpec& training = job.training;
  if (job.growth_level(0) != kFullyGrown) {
    return "its networks grow";
  }
  if (layout.is_apart()) {
    return "tensors pass between workers within a step";
  }
  if (job.scales_losses()) {
    return "the host chooses the loss scale";
  }
  if (training.recipe->has_pools) {
    return "the host keeps the pools of images";
  }
  if (job.model.classes > 0 && training.fake_labels == FakeLabels::kData &&
      job.data.module.is_python()) {
    return "labels of examples in Python are looked up by the host";
  }
  if (!job.model.library.file.empty()) {
    return "blocks of a library may run any code";
  }
  if (training.step.is_python()) {
    return why_own_step_is_not_recorded(job);
  }
  const bool has_own = std::ranges::any_of(
      job.networks, [](const NetworkSpec& network) { return !network.module.file.empty(); });
  return has_own ? "a network of the user may run any code" : "";
}

bool records_steps(const Job& job, const Layout& layout) {
  return job.numerics.device == DeviceKind::kCuda && layout.cuda_graph != GraphChoice::kOff &&
         why_not_recorded(job, layout).empty();
}

int recorded_at_once(const Job& job, const Layout& layout, MicrobatchRange range) {
  if (!records_steps(job, layout)) {
    return 0;
  }
  const bool has_branches =
      layout.cuda_graph == GraphChoice::kBranches && job.training.own.phases.empty();
  return has_branches ? std::min(kMostBranches, range.size()) : 1;
}

}  // namespace gangway
