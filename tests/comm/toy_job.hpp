// SPDX-License-Identifier: MIT
// A job in miniature for tests of the reduction: gradients that depend on weights, step and micro-batch, a momentum
// optimiser for the parameters and a moving average for the statistics. Its weights are a function of the job alone,
// so any number of workers on any transport must arrive at the same bits.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "comm/arena.hpp"
#include "comm/partial_stack.hpp"
#include "comm/reducer.hpp"

namespace gangway::comm {

enum class Clipping { kNone, kByNorm };

struct ToyJob {
  int num_microbatches = 4;
  int num_updates = 3;
  Clipping clipping = Clipping::kNone;
};

/// Thirteen blocks: tensors that fill several, that end inside one, that hold a single element; then statistics.
inline ArenaLayout toy_layout() {
  const std::vector<ArenaLayout::Tensor> parameters{
      {"dense.weight", 30'000}, {"dense.bias", 1}, {"norm.weight", 64}, {"out.weight", 14'001}};
  const std::vector<ArenaLayout::Tensor> statistics{{"norm.mean", 64}, {"norm.variance", 5'000}};
  return {parameters, statistics};
}

/// Ranges as a job gives them: worker w computes micro-batches [w M / W, (w + 1) M / W).
inline std::vector<MicrobatchRange> toy_ranges(int num_microbatches, int num_workers) {
  std::vector<MicrobatchRange> ranges;
  for (int worker = 0; worker < num_workers; ++worker) {
    ranges.push_back({worker * num_microbatches / num_workers, (worker + 1) * num_microbatches / num_workers});
  }
  return ranges;
}

/// A float of either sign between about 1e-6 and 1: sums of such values round differently in any other order.
inline float scattered(std::uint64_t key) {
  key = (key ^ (key >> 30U)) * 0xbf58476d1ce4e5b9ULL;  // SplitMix64's finaliser
  key = (key ^ (key >> 27U)) * 0x94d049bb133111ebULL;
  key ^= key >> 31U;
  const auto signed_fraction = static_cast<float>(static_cast<std::int32_t>(key >> 32U)) * 0x1p-31F;
  return std::ldexp(signed_fraction, -static_cast<int>(key & 15U));
}

/// Adds the gradient of one micro-batch; padding stays zero. Statistics do not depend on the weights.
inline void add_gradient(const ArenaLayout& layout, const Arena& weights, int step, int microbatch, Arena& gradient) {
  const auto fill = [&](const std::vector<ArenaEntry>& entries, float weight_factor) {
    for (const ArenaEntry& entry : entries) {
      for (std::size_t i = entry.offset; i < entry.offset + entry.elements; ++i) {
        const auto turn = (static_cast<std::uint64_t>(step) << 8U) + static_cast<std::uint64_t>(microbatch);
        const std::uint64_t key = (turn << 32U) + i;
        gradient.data()[i] += scattered(key * 0x9e3779b97f4a7c15ULL) + weight_factor * weights.data()[i];
      }
    }
  };
  fill(layout.parameters(), 0.3F);
  fill(layout.statistics(), 0.0F);
}

class MomentumUpdater final : public SliceUpdater {
 public:
  MomentumUpdater(const ArenaLayout& layout, Arena& weights)
      : statistics_begin_(layout.statistics_range().begin), weights_(weights), momentum_(layout.size()) {}

  void update(ElementRange range, std::span<const float> mean) override {
    if (before_update) {
      before_update();
    }
    float* const weights = weights_.data();
    float* const momentum = momentum_.data();
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const float value = mean[i - range.begin];
      if (i < statistics_begin_) {
        momentum[i] = 0.9F * momentum[i] + value;
        weights[i] -= 0.05F * momentum[i];
      } else {
        weights[i] = 0.9F * weights[i] + 0.1F * value;
      }
    }
  }

  std::function<void()> before_update;  ///< for tests that fail in the middle of an update

 private:
  std::size_t statistics_begin_;
  Arena& weights_;
  Arena momentum_;
};

/// Largest norm of a mean gradient; about half of what the toy gradients have, so that clipping always acts.
inline float clip_scale(Agreement agreement) {
  constexpr double kMaximum = 5.0;
  return static_cast<float>(std::min(1.0, kMaximum / std::sqrt(agreement.squared_norm)));
}

/// What a worker ends with: the same on all workers of a job.
struct ToyResult {
  std::vector<float> weights;
  std::vector<double> squared_norms;  ///< one an update, if the job clips
  std::uint64_t bytes_sent = 0;
};

/// One worker of a toy job.
class ToyWorker {
 public:
  struct Setup {
    ToyJob job;
    std::size_t num_buckets = 3;
    std::chrono::milliseconds timeout{60'000};
  };

  ToyWorker(Transport& transport, const ArenaLayout& layout, Setup setup)
      : transport_(transport),
        layout_(layout),
        setup_(setup),
        plan_(layout, transport.num_workers(), setup.num_buckets),
        weights_(layout.size()),
        updater_(layout, weights_),
        stack_(layout.size(), setup.job.num_microbatches),
        reducer_(transport, {.network = 1,
                             .layout = &layout_,
                             .plan = &plan_,
                             .weights = &weights_,
                             .updater = &updater_,
                             .ranges = toy_ranges(setup.job.num_microbatches, transport.num_workers()),
                             .num_microbatches = setup.job.num_microbatches,
                             .timeout = setup.timeout}) {}

  void start(int step) {
    const MicrobatchRange own = toy_ranges(setup_.job.num_microbatches,
                                           transport_.num_workers())[static_cast<std::size_t>(transport_.worker())];
    stack_.clear();
    for (int microbatch = own.begin; microbatch < own.end; ++microbatch) {
      add_gradient(layout_, weights_, step, microbatch, stack_.open_leaf());
      stack_.push(microbatch);
    }
    reducer_.start(stack_.partials());
  }

  void finish() {
    float scale = 1.0F;
    if (setup_.job.clipping == Clipping::kByNorm) {
      const Agreement agreement = reducer_.agree();
      squared_norms_.push_back(agreement.squared_norm);
      scale = clip_scale(agreement);
    }
    reducer_.update(scale);
  }

  [[nodiscard]] ToyResult run() {
    for (int step = 0; step < setup_.job.num_updates; ++step) {
      start(step);
      finish();
    }
    return {{weights_.data(), weights_.data() + weights_.size()}, squared_norms_, transport_.bytes_sent()};
  }

  [[nodiscard]] MomentumUpdater& updater() { return updater_; }

 private:
  Transport& transport_;
  const ArenaLayout& layout_;
  Setup setup_;
  BucketPlan plan_;
  Arena weights_;
  MomentumUpdater updater_;
  PartialStack stack_;
  Reducer reducer_;
  std::vector<double> squared_norms_;
};

/// Equal as bits: tells 0 from -0, and a NaN equals itself.
inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return std::ranges::equal(std::as_bytes(a), std::as_bytes(b));
}

}  // namespace gangway::comm
