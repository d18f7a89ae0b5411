// SPDX-License-Identifier: MIT
// A small job for tests of the reduction. Gradients depend on weights, step and micro-batch;
// parameters have a momentum optimiser, statistics a moving average. The weights depend only on the
// job, so any number of workers on any transport must get the same bits.
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/arena/arena.hpp"
#include "comm/host/host_group.hpp"
#include "comm/lane.hpp"
#include "comm/reduce/partial_stack.hpp"
#include "comm/reduce/reducer.hpp"

namespace gangway::comm {

enum class Clipping { kNone, kByNorm };

/// Largest norm of a mean gradient: about half of the toy gradients' norm, so that clipping is
/// always active.
inline constexpr double kToyClipNorm = 5.0;

struct ToyJob {
  int num_microbatches = 4;
  int num_updates = 3;
  Clipping clipping = Clipping::kNone;
  std::int64_t scale_exponent = 0;  ///< gradients are multiplied by 2^this; only with clipping
  int poisoned_step = -1;           ///< step with an infinite gradient in the last micro-batch

  [[nodiscard]] Agreement agreement() const {
    const bool clips = clipping == Clipping::kByNorm;
    return {.is_needed = clips,
            .clip_norm = clips ? kToyClipNorm : 0.0,
            .scale_exponent = scale_exponent};
  }
};

/// Thirteen blocks: tensors of several blocks, of a part of one, and of a single element; then
/// statistics.
inline ArenaLayout toy_layout() {
  const std::vector<ArenaLayout::Tensor> parameters{
      {"dense.weight", 30'000}, {"dense.bias", 1}, {"norm.weight", 64}, {"out.weight", 14'001}};
  const std::vector<ArenaLayout::Tensor> statistics{{"norm.mean", 64}, {"norm.variance", 5'000}};
  return {parameters, statistics};
}

/// Returns a job's ranges: worker w computes micro-batches [w M / W, (w + 1) M / W).
inline std::vector<MicrobatchRange> toy_ranges(int num_microbatches, int num_workers) {
  std::vector<MicrobatchRange> ranges;
  for (int worker = 0; worker < num_workers; ++worker) {
    ranges.push_back(
        {worker * num_microbatches / num_workers, (worker + 1) * num_microbatches / num_workers});
  }
  return ranges;
}

/// Returns a float of either sign between about 1e-6 and 1. Sums of such values round differently
/// in any other order.
inline float scattered(std::uint64_t key) {
  key = (key ^ (key >> 30U)) * 0xbf58476d1ce4e5b9ULL;  // SplitMix64's finaliser
  key = (key ^ (key >> 27U)) * 0x94d049bb133111ebULL;
  key ^= key >> 31U;
  const auto signed_fraction = static_cast<float>(static_cast<std::int32_t>(key >> 32U));
  const auto power_of_two =
      std::bit_cast<float>(static_cast<std::uint32_t>(96U - (key & 15U)) << 23U);  // 2^-31 …
  return signed_fraction * power_of_two;
}

/// Adds the gradient of one micro-batch to `range`; padding stays zero. Reads only weights in
/// `range`, and none for statistics.
inline void add_gradient(const ArenaLayout& layout, const Arena& weights, int step, int microbatch,
                         float* gradient, ElementRange range) {
  const auto turn =
      (static_cast<std::uint64_t>(step) << 8U) + static_cast<std::uint64_t>(microbatch);
  const auto fill = [&](const std::vector<ArenaEntry>& entries, float weight_factor) {
    for (const ArenaEntry& entry : entries) {
      const ElementRange part = intersect(range, {entry.offset, entry.offset + entry.elements});
      for (std::size_t i = part.begin; i < part.end; ++i) {
        const float value = weight_factor == 0.0F ? 0.0F : weight_factor * weights.data()[i];
        gradient[i] += scattered(((turn << 32U) + i) * 0x9e3779b97f4a7c15ULL) + value;
      }
    }
  };
  fill(layout.parameters(), 0.3F);
  fill(layout.statistics(), 0.0F);
}

class MomentumUpdater final : public SliceUpdater {
 public:
  MomentumUpdater(const ArenaLayout& layout, Arena& weights)
      : statistics_begin_(layout.statistics_range().begin),
        weights_(weights),
        momentum_(layout.size()) {}

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

/// A worker's final result, equal on all workers of a job.
struct ToyResult {
  std::vector<float> weights;
  std::vector<double> squared_norms;  ///< one per update, if the job clips
  std::uint64_t bytes_sent = 0;
  int skips = 0;  ///< updates that were skipped
};

/// Limit for a host's workers to set up their memory.
inline constexpr std::chrono::milliseconds kToyPatience{60'000};

struct ToySetup {
  ToyJob job;
  std::size_t num_buckets = 3;
  std::chrono::milliseconds timeout{60'000};  ///< of an exchange
  std::vector<int> hosts = {};                ///< by worker; empty: a host for each
  std::string token = {};                     ///< names the shared memory of a host's workers
  int network = 1;
  WireFormat wire = WireFormat::kFp32;
  std::function<void(const std::string&)> on_stall = {};
};

/// Returns a name for shared memory that no other test uses.
inline std::string fresh_token() {
  std::random_device random;
  return "test" + std::to_string(random()) + "x" + std::to_string(random());
}

/// Makes the memory that the transport's worker shares with the workers of its host.
inline HostMemory toy_host(const Transport& transport, const ToySetup& setup,
                           std::size_t num_networks = 2) {
  const int worker = transport.worker();
  return HostMemory(
      {.members = setup.hosts.empty()
                      ? std::vector<int>{worker}
                      : workers_of(setup.hosts[static_cast<std::size_t>(worker)], setup.hosts),
       .worker = worker,
       .epoch = transport.epoch(),
       .token = setup.token,
       .num_flags = num_networks * kFlagsPerNetwork});
}

/// One network of a toy job on one worker. All workers make their networks, connect the memory, and
/// then call `build_reducer`.
class ToyNetwork {
 public:
  ToyNetwork(Transport& transport, HostMemory& host, const ArenaLayout& layout, ToySetup setup)
      : transport_(transport),
        layout_(layout),
        setup_(std::move(setup)),
        ranges_(toy_ranges(setup_.job.num_microbatches, transport.num_workers())),
        plan_(layout, transport.num_workers(), setup_.num_buckets),
        weights_(host.allocate_shared(layout.size(), Deadline(kToyPatience))),
        updater_(layout, weights_),
        stack_(host, layout.size(), own_range(), setup_.job.num_microbatches) {}

  void build_reducer(HostGroup& host) {
    reducer_.emplace(transport_, ReducerSetup{.network = setup_.network,
                                              .layout = &layout_,
                                              .plan = &plan_,
                                              .weights = &weights_,
                                              .updater = &updater_,
                                              .partials = &stack_,
                                              .host = &host,
                                              .ranges = ranges_,
                                              .hosts = setup_.hosts,
                                              .num_microbatches = setup_.job.num_microbatches,
                                              .wire = setup_.wire,
                                              .timeout = setup_.timeout,
                                              .on_stall = setup_.on_stall});
  }

  /// Computes the gradients of all local micro-batches without the reducer.
  void compute(int step) {
    for (int microbatch = own_range().begin; microbatch < own_range().end; ++microbatch) {
      float* const gradient = stack_.open_leaf();
      add_gradient(layout_, weights_, step, microbatch, gradient, {0, layout_.size()});
      for (std::size_t i = 0; i < layout_.parameter_range().end; ++i) {
        gradient[i] = std::ldexp(gradient[i], static_cast<int>(setup_.job.scale_exponent));
      }
      if (step == setup_.job.poisoned_step && microbatch + 1 == setup_.job.num_microbatches) {
        gradient[7] = std::numeric_limits<float>::infinity();
      }
      stack_.push(microbatch);
    }
  }

  /// The same. In the last micro-batch the buckets become complete in `order`, while `lane`
  /// exchanges earlier ones. @pre open
  void compute(int step, std::span<const std::size_t> order, Lane& lane) {
    const MicrobatchRange own = own_range();
    for (int microbatch = own.begin; microbatch < own.end; ++microbatch) {
      float* const gradient = stack_.open_leaf();
      const bool is_last = microbatch + 1 == own.end;
      for (const std::size_t bucket : order) {
        add_gradient(layout_, weights_, step, microbatch, gradient, plan_.bucket(bucket));
        if (is_last) {
          reducer_->bucket_ready(bucket);
          lane.wake();
        }
      }
      stack_.push(microbatch);
    }
    (void)reducer_->all_ready();
    lane.wake();
  }

  void open() { reducer_->open(setup_.job.agreement()); }

  /// Call it after an exchange.
  void note_norm() {
    if (reducer_->was_skipped()) {
      ++skips_;
    } else if (setup_.job.clipping == Clipping::kByNorm) {
      squared_norms_.push_back(reducer_->squared_norm());
    }
  }

  [[nodiscard]] ToyResult result() const {
    return {{weights_.data(), weights_.data() + weights_.size()},
            squared_norms_,
            transport_.bytes_sent(),
            skips_};
  }

  [[nodiscard]] Reducer& reducer() { return *reducer_; }
  [[nodiscard]] MomentumUpdater& updater() { return updater_; }
  [[nodiscard]] const BucketPlan& plan() const { return plan_; }

 private:
  [[nodiscard]] MicrobatchRange own_range() const {
    return ranges_[static_cast<std::size_t>(transport_.worker())];
  }

  Transport& transport_;
  const ArenaLayout& layout_;
  ToySetup setup_;
  std::vector<MicrobatchRange> ranges_;
  BucketPlan plan_;
  Arena weights_;
  MomentumUpdater updater_;
  PartialStack stack_;
  std::optional<Reducer> reducer_;
  std::vector<double> squared_norms_;
  int skips_ = 0;
};

/// One worker of a toy job.
class ToyWorker {
 public:
  ToyWorker(Transport& transport, const ArenaLayout& layout, const ToySetup& setup)
      : ToyWorker(transport, layout, setup, toy_host(transport, setup)) {}

  /// Computes, and sends as far as possible without waiting.
  void start(int step) {
    network_.compute(step);
    network_.open();
    (void)reducer().all_ready();
    while (reducer().advance()) {
    }
  }

  void finish() {
    while (reducer().needs() != Exchange::Need::kNothing) {
      if (!reducer().advance()) {
        transport_.idle();
      }
    }
    network_.note_norm();
  }

  /// Runs all steps, driven by the calling thread.
  [[nodiscard]] ToyResult run() {
    for (int step = 0; step < num_updates_; ++step) {
      start(step);
      finish();
    }
    return network_.result();
  }

  /// Runs all steps; `lane` drives the exchanges. The buckets become ready one by one, in an order
  /// that changes from step to step and from worker to worker.
  [[nodiscard]] ToyResult run(Lane& lane, unsigned seed = 0) {
    std::mt19937 random(seed * 64 + static_cast<unsigned>(transport_.worker()));
    std::vector<std::size_t> order(network_.plan().num_buckets());
    std::iota(order.begin(), order.end(), 0U);
    lane.attach(reducer());
    lane.listen_to(*host_, Lane::Core::kShared);
    for (int step = 0; step < num_updates_; ++step) {
      std::ranges::shuffle(order, random);
      network_.open();
      network_.compute(step, order, lane);
      lane.wait(reducer());
      network_.note_norm();
    }
    lane.stop_listening();
    lane.detach(reducer());
    return network_.result();
  }

  [[nodiscard]] ToyNetwork& network() { return network_; }
  [[nodiscard]] Reducer& reducer() { return network_.reducer(); }
  [[nodiscard]] MomentumUpdater& updater() { return network_.updater(); }
  [[nodiscard]] HostGroup& host() { return *host_; }

 private:
  ToyWorker(Transport& transport, const ArenaLayout& layout, const ToySetup& setup,
            HostMemory memory)
      : transport_(transport),
        num_updates_(setup.job.num_updates),
        network_(transport, memory, layout, setup) {
    host_.emplace(std::move(memory).connect(network_.plan().hash(), Deadline(kToyPatience)));
    network_.build_reducer(*host_);
  }

  Transport& transport_;
  int num_updates_;
  std::optional<HostGroup> host_;
  ToyNetwork network_;
};

/// Compares bits: 0 differs from -0, and a NaN equals itself.
inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return std::ranges::equal(std::as_bytes(a), std::as_bytes(b));
}

}  // namespace gangway::comm
