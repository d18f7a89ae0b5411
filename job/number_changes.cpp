// SPDX-License-Identifier: MIT
#include "job/number_changes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <variant>

namespace gangway {
namespace {

struct NumberChange {
  int revision = 1;  ///< first revision with this change
  std::string_view what;
  bool (*touches)(const JobSpec& job);
};

template <typename... Specs>
bool is_any_of(const BlockSpec& block) {
  return (std::holds_alternative<Specs>(block) || ...);
}

/// Returns whether Gangway's products (gan/kernels/picture_maps.hpp) may compute a convolution of
/// this job.
bool convolves_on_cpu(const JobSpec& job) {
  if (job.numerics.device != DeviceKind::kCpu ||
      job.numerics.memory_format != MemoryFormat::kChannelsLast) {
    return false;
  }
  const auto may_convolve = [&job](const BlockSpec& block) {
    if (const auto* const layer = std::get_if<LayerSpec>(&block)) {
      return layer->kind != LayerKind::kLinear;
    }
    return is_any_of<PythonSpec>(block) ? job.numerics.kernels != KernelChoice::kPytorch
                                        : !is_any_of<LabelConcatenationSpec, ProjectionHeadSpec,
                                                     LabelEmbeddingSpec, LabelProductSpec>(block);
  };
  const PerNetwork<Architecture> architectures = job.architectures();
  return std::ranges::any_of(architectures.ids(), [&](NetworkId id) {
    return std::ranges::any_of(architectures[id].blocks, may_convolve);
  });
}

constexpr std::array<NumberChange, 7> kChanges = {{
    {2,
     "generated examples have the labels of the real ones that a relativistic loss pairs them with",
     [](const JobSpec& job) {
       return job.training.recipe->takes_penalties && job.model.classes > 0 &&
              job.training.loss == LossKind::kRelativistic;
     }},
    {2,
     "the average of the weights is updated once a step, no longer after the path length's update "
     "too",
     [](const JobSpec& job) {
       return job.training.path_length.is_lazy() &&
              std::ranges::any_of(job.networks, &NetworkSpec::is_averaged);
     }},
    {2, "the strength of augmentation may rise above 1",
     [](const JobSpec& job) { return job.training.augment.is_adaptive(); }},
    {3, "all phases of a step have one strength of augmentation, as the authors' code has it",
     [](const JobSpec& job) { return job.training.augment.is_adaptive(); }},
    {4,
     "Python networks on a CPU compute with Gangway's kernels, unless numerics.kernels is pytorch",
     [](const JobSpec& job) {
       return job.computes_in_python() && job.numerics.device == DeviceKind::kCpu &&
              job.numerics.kernels != KernelChoice::kPytorch;
     }},
    {4, "penalties compute in TF32; numerics.penalties=fp32 keeps the old numbers",
     [](const JobSpec& job) {
       const auto is_in_tf32 = [&](std::string_view network) {
         return job.penalty_precision(job.id_of(network)) == Precision::kTf32;
       };
       return !job.numerics.penalties &&
              ((job.training.penalty.is_any() && is_in_tf32("discriminator")) ||
               (job.training.path_length.is_any() && is_in_tf32("generator")));
     }},
    {6, "convolutions on CPUs and their derivatives are summed in another order", convolves_on_cpu},
}};

}  // namespace

std::vector<std::string_view> number_changes_since(
    const std::map<std::string, std::string>& software, const JobSpec& job) {
  int revision = 1;
  if (const auto found = software.find(std::string(kNumbersRevisionName));
      found != software.end()) {
    const std::string& text = found->second;
    (void)std::from_chars(text.data(), text.data() + text.size(), revision);
  }
  std::vector<std::string_view> changes;
  for (const NumberChange& one : kChanges) {
    if (one.revision > revision && one.touches(job)) {
      changes.push_back(one.what);
    }
  }
  return changes;
}

}  // namespace gangway
