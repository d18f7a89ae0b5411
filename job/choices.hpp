// SPDX-License-Identifier: MIT
// Maps enumerators and model families to their words in job files, reports and messages. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "job/families/families.hpp"
#include "job/models/recipes.hpp"
#include "job/spec.hpp"
#include "job/transports.hpp"

namespace gangway {

template <typename Value>
struct Choice {
  std::string_view name;
  Value value;
};

inline std::vector<Choice<const ModelFamily*>> choices(const ModelFamily*) {
  std::vector<Choice<const ModelFamily*>> all;
  for (const ModelFamily& family : families()) {
    all.push_back({family.name, &family});
  }
  all.push_back({own_family()->name, own_family()});
  return all;
}
inline std::vector<Choice<const Recipe*>> choices(const Recipe*) {
  std::vector<Choice<const Recipe*>> all;
  for (const Recipe& recipe : recipes()) {
    all.push_back({recipe.name, &recipe});
  }
  return all;
}
constexpr std::array<Choice<Normalization>, 3> choices(Normalization) {
  return {{{"auto", Normalization::kAuto},
           {"batch", Normalization::kBatch},
           {"none", Normalization::kNone}}};
}
constexpr std::array<Choice<Conditioning>, 3> choices(Conditioning) {
  return {{{"hierarchical", Conditioning::kHierarchical},
           {"shared", Conditioning::kShared},
           {"separate", Conditioning::kSeparate}}};
}
constexpr std::array<Choice<Metric>, 4> choices(Metric) {
  return {{{"swd", Metric::kSwd}, {"fd", Metric::kFd}, {"kid", Metric::kKid}, {"pr", Metric::kPr}}};
}
constexpr std::array<Choice<std::optional<Metric>>, 4> choices(std::optional<Metric>) {
  return {
      {{"auto", std::nullopt}, {"swd", Metric::kSwd}, {"fd", Metric::kFd}, {"kid", Metric::kKid}}};
}
constexpr std::array<Choice<FeatureResize>, 3> choices(FeatureResize) {
  return {{{"own", FeatureResize::kOwn},
           {"bilinear", FeatureResize::kBilinear},
           {"clean", FeatureResize::kClean}}};
}
constexpr std::array<Choice<ScorePlace>, 3> choices(ScorePlace) {
  return {{{"beside", ScorePlace::kBeside},
           {"device", ScorePlace::kDevice},
           {"spare", ScorePlace::kSpare}}};
}
constexpr std::array<Choice<FakeLabels>, 2> choices(FakeLabels) {
  return {{{"uniform", FakeLabels::kUniform}, {"data", FakeLabels::kData}}};
}
constexpr std::array<Choice<GeneratorReals>, 2> choices(GeneratorReals) {
  return {{{"same", GeneratorReals::kSame}, {"new", GeneratorReals::kNew}}};
}
constexpr std::array<Choice<PenalisedPictures>, 2> choices(PenalisedPictures) {
  return {
      {{"augmented", PenalisedPictures::kAugmented}, {"original", PenalisedPictures::kOriginal}}};
}
/// Activations of a discriminator.
constexpr std::array<Choice<Activation>, 2> choices(Activation) {
  return {{{"leaky-relu", Activation::kLeakyRelu}, {"softplus", Activation::kSoftplus}}};
}
constexpr std::array<Choice<LossKind>, 5> choices(LossKind) {
  return {{{"nonsaturating", LossKind::kNonsaturating},
           {"least-squares", LossKind::kLeastSquares},
           {"hinge", LossKind::kHinge},
           {"wasserstein", LossKind::kWasserstein},
           {"relativistic", LossKind::kRelativistic}}};
}
constexpr std::array<Choice<PairDirection>, 2> choices(PairDirection) {
  return {{{"a-to-b", PairDirection::kAToB}, {"b-to-a", PairDirection::kBToA}}};
}
constexpr std::array<Choice<AugmentPolicy>, 3> choices(AugmentPolicy) {
  return {{{"none", AugmentPolicy::kNone},
           {"ada", AugmentPolicy::kAda},
           {"diffaugment", AugmentPolicy::kDiffAugment}}};
}
constexpr std::array<Choice<AugmentKind>, 7> choices(AugmentKind) {
  return {{{"blit", AugmentKind::kBlit},
           {"geometry", AugmentKind::kGeometry},
           {"color", AugmentKind::kColor},
           {"filter", AugmentKind::kFilter},
           {"noise", AugmentKind::kNoise},
           {"cutout", AugmentKind::kCutout},
           {"translation", AugmentKind::kTranslation}}};
}
constexpr std::array<Choice<Reconstruction>, 3> choices(Reconstruction) {
  return {{{"bernoulli", Reconstruction::kBernoulli},
           {"squared", Reconstruction::kSquared},
           {"absolute", Reconstruction::kAbsolute}}};
}
constexpr std::array<Choice<OptimizerKind>, kOptimizers.size()> choices(OptimizerKind) {
  std::array<Choice<OptimizerKind>, kOptimizers.size()> found{};
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i] = {kOptimizers[i].name, kOptimizers[i].kind};
  }
  return found;
}
constexpr std::array<Choice<InitializationKind>, 5> choices(InitializationKind) {
  return {{{"family", InitializationKind::kFamily},
           {"normal", InitializationKind::kNormal},
           {"xavier", InitializationKind::kXavier},
           {"he", InitializationKind::kHe},
           {"orthogonal", InitializationKind::kOrthogonal}}};
}
constexpr std::array<Choice<DivergencePolicy>, 2> choices(DivergencePolicy) {
  return {{{"stop", DivergencePolicy::kStop}, {"rollback", DivergencePolicy::kRollback}}};
}
constexpr std::array<Choice<DecayKind>, 6> choices(DecayKind) {
  return {{{"none", DecayKind::kNone},
           {"linear", DecayKind::kLinear},
           {"cosine", DecayKind::kCosine},
           {"step", DecayKind::kStep},
           {"exponential", DecayKind::kExponential},
           {"onecycle", DecayKind::kOneCycle}}};
}
constexpr std::array<Choice<Anneal>, 2> choices(Anneal) {
  return {{{"cosine", Anneal::kCosine}, {"linear", Anneal::kLinear}}};
}
constexpr std::array<Choice<MemoryFormat>, 3> choices(MemoryFormat) {
  return {{{"contiguous", MemoryFormat::kContiguous},
           {"channels-last", MemoryFormat::kChannelsLast},
           {"auto", MemoryFormat::kAuto}}};
}
constexpr std::array<Choice<WireFormat>, 3> choices(WireFormat) {
  return {{{"fp32", WireFormat::kFp32}, {"bf16", WireFormat::kBf16}, {"fp16", WireFormat::kFp16}}};
}
constexpr std::array<Choice<Precision>, 5> choices(Precision) {
  return {{{"fp32", Precision::kFp32},
           {"tf32", Precision::kTf32},
           {"bf16", Precision::kBf16},
           {"fp16", Precision::kFp16},
           {"auto", Precision::kAuto}}};
}
/// Precisions of penalties.
constexpr std::array<Choice<std::optional<Precision>>, 4> choices(std::optional<Precision>) {
  return {{{"auto", std::nullopt},
           {"fp32", Precision::kFp32},
           {"tf32", Precision::kTf32},
           {"bf16", Precision::kBf16}}};
}
constexpr std::array<Choice<DeviceKind>, 3> choices(DeviceKind) {
  return {{{"cpu", DeviceKind::kCpu}, {"cuda", DeviceKind::kCuda}, {"auto", DeviceKind::kAuto}}};
}
constexpr std::array<Choice<SumOrder>, 2> choices(SumOrder) {
  return {{{"tree", SumOrder::kTree}, {"nccl", SumOrder::kNccl}}};
}
constexpr std::array<Choice<KernelChoice>, 3> choices(KernelChoice) {
  return {{{"deterministic", KernelChoice::kDeterministic},
           {"fastest", KernelChoice::kFastest},
           {"pytorch", KernelChoice::kPytorch}}};
}
constexpr std::array<Choice<InstructionSet>, 4> choices(InstructionSet) {
  return {{{"native", InstructionSet::kNative},
           {"sse4", InstructionSet::kSse4},
           {"avx2", InstructionSet::kAvx2},
           {"avx512", InstructionSet::kAvx512}}};
}
constexpr std::array<Choice<GraphChoice>, 5> choices(GraphChoice) {
  return {{{"auto", GraphChoice::kAuto},
           {"on", GraphChoice::kOn},
           {"overlap", GraphChoice::kOverlap},
           {"branches", GraphChoice::kBranches},
           {"off", GraphChoice::kOff}}};
}
constexpr std::array<Choice<Balance>, 2> choices(Balance) {
  return {{{"auto", Balance::kAuto}, {"off", Balance::kOff}}};
}
constexpr std::array<Choice<MixedProcessors>, 2> choices(MixedProcessors) {
  return {{{"refuse", MixedProcessors::kRefuse}, {"allow", MixedProcessors::kAllow}}};
}
constexpr std::array<Choice<TransportKind>, kTransports.size()> choices(TransportKind) {
  std::array<Choice<TransportKind>, kTransports.size()> words{};
  for (std::size_t row = 0; row < words.size(); ++row) {
    words[row] = {kTransports[row].name, kTransports[row].kind};
  }
  return words;
}
constexpr std::array<Choice<Overlap>, 3> choices(Overlap) {
  return {{{"none", Overlap::kNone}, {"within", Overlap::kWithin}, {"across", Overlap::kAcross}}};
}
constexpr std::array<Choice<StageOrder>, 4> choices(StageOrder) {
  return {{{"fill", StageOrder::kFill},
           {"gpipe", StageOrder::kByPhase},
           {"1f1b", StageOrder::kOneForwardOneBackward},
           {"zero-bubble", StageOrder::kZeroBubble}}};
}
constexpr std::array<Choice<StagePlacement>, 2> choices(StagePlacement) {
  return {{{"loop", StagePlacement::kLoop}, {"v", StagePlacement::kV}}};
}
constexpr std::array<Choice<bool>, 2> choices(bool) { return {{{"true", true}, {"false", false}}}; }

/// Returns the word of `value` in job files.
template <typename Value>
[[nodiscard]] constexpr std::string_view name_of(Value value) {
  for (const auto& choice : choices(value)) {
    if (choice.value == value) {
      return choice.name;
    }
  }
  throw std::logic_error("a value has no name: job/choices.hpp lists those that have");
}

}  // namespace gangway
