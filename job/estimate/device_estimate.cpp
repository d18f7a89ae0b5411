// SPDX-License-Identifier: MIT
#include "job/estimate/device_estimate.hpp"

#include <algorithm>

#include "job/blocks/progressive/growth.hpp"
#include "job/estimate/device_sums.hpp"
#include "job/models/recipes.hpp"

namespace gangway {
namespace {

constexpr std::int64_t kFloat = 4;
constexpr std::int64_t kHalf = 2;

std::int64_t num_buckets(const JobSpec& spec, std::int64_t parameters) {
  return spec.layout.buckets > 0
             ? spec.layout.buckets
             : std::clamp<std::int64_t>(kFloat * parameters / kLeastBucketBytes, 1, kMostBuckets);
}

}  // namespace

void add_device_part(const JobSpec& spec, NetworkId network, const DevicePart& part,
                     MemoryEstimate& memory) {
  const NetworkSpec& own = spec.networks[network];
  const std::int64_t moments =
      own.is_frozen ? 0 : static_cast<std::int64_t>(num_moments(own.optimizer.kind));
  const std::int64_t average = own.is_averaged() ? 1 : 0;
  memory.weights_bytes += kFloat * part.held;
  memory.host_bytes += kFloat * part.parameters * (1 + moments + average);
  if (own.is_frozen) {
    return;
  }
  const bool is_tree = spec.numerics.order == SumOrder::kTree;
  const std::int64_t updated = is_tree ? part.held / part.members : part.held;
  memory.weights_bytes += kFloat * updated * average;
  memory.optimizer_bytes += kFloat * updated * moments;
  const int sums = device_sums(part.range, spec.training.microbatches);
  memory.gradients_bytes +=
      kFloat * part.held * gradient_buffers(part.range, spec.training.microbatches);
  if (const int branches = recorded_at_once(spec, part.range); branches > 1) {  // a leaf of each
    memory.gradients_bytes += kFloat * part.parameters * branches;
  }
  if (is_tree) {
    const bool rounds = own.wire != WireFormat::kFp32;
    memory.gradients_bytes += (rounds ? kHalf : kFloat) * updated * part.other_sums;
    memory.gradients_bytes += rounds ? (kHalf + kFloat) * part.parameters * sums : 0;
  }
  // What is shown of updates (worker/cuda/updates/shown_updates.hpp) has room for two slices.
  memory.gradients_bytes +=
      2 * kFloat * updated * part.parameters / part.held / num_buckets(spec, part.parameters);
  if (!is_tree || spec.agrees_on_updates(network)) {  // the mean
    memory.gradients_bytes += kFloat * part.parameters;
  }
}

bool records_steps(const JobSpec& spec) {
  const TrainingSpec& training = spec.training;
  const bool is_left_to_the_host =
      spec.growth_level(0) != kFullyGrown || spec.layout.places_networks() ||
      spec.scales_losses() || training.recipe->has_pools ||
      (spec.model.classes > 0 && training.fake_labels == FakeLabels::kData);
  const bool is_captured =  // where nobody has looked into the step, it is not known
      spec.data.takes != ExampleKind::kAny && !training.own.phases.empty() &&
      std::ranges::all_of(training.own.phases, &OwnPhase::is_captured);
  const bool is_the_users =
      !spec.model.library.file.empty() ||
      (!is_captured && std::ranges::any_of(spec.networks, [](const NetworkSpec& network) {
        return !network.module.file.empty();
      }));
  return spec.numerics.device == DeviceKind::kCuda && spec.layout.cuda_graph != GraphChoice::kOff &&
         !is_left_to_the_host && !is_the_users;
}

int recorded_at_once(const JobSpec& spec, MicrobatchRange range) {
  if (!records_steps(spec)) {
    return 0;
  }
  const bool has_branches =
      spec.layout.cuda_graph == GraphChoice::kBranches && spec.training.own.phases.empty();
  return has_branches ? std::min(kMostBranches, range.size()) : 1;
}

}  // namespace gangway
