// SPDX-License-Identifier: MIT
// One network of tests/gpu/gpu_job.hpp in device memory, updated by an NcclReducer.
#pragma once

#include <memory>
#include <vector>

#include "comm/nccl/nccl_reducer.hpp"
#include "tests/gpu/device_memory.hpp"
#include "tests/gpu/gpu_job.hpp"

namespace gangway::comm {

/// The times at which the buckets of a phase become ready.
enum class BucketEvents { kEarly, kReversed, kAtTheEnd };

class GpuNetwork {
 public:
  struct Setup {
    GpuJob job;
    std::size_t num_buckets = 3;
    NcclOrder order = NcclOrder::kExact;
    WireType wire = WireType::kFloat32;
    std::vector<int> hosts = {};  ///< by worker; empty: a host for each
  };

  GpuNetwork(NcclSession& session, const ArenaLayout& layout, const Setup& setup)
      : layout_(layout),
        setup_(setup),
        plan_(layout, session.num_workers(), setup.num_buckets),
        subtrees_(whole_subtrees(
            toy_ranges(setup.job.num_microbatches,
                       session.num_workers())[static_cast<std::size_t>(session.worker())],
            setup.job.num_microbatches)),
        first_(layout.size()),
        second_(layout.size()),
        weights_(allocate_nccl_memory(layout.size() * sizeof(float))),
        average_(initial_weights(layout)) {
    const std::vector<float> weights = initial_weights(layout);
    check(cudaMemcpy(weights_.get(), weights.data(), weights.size() * sizeof(float),
                     cudaMemcpyHostToDevice),
          "a test's weights");
    registrations_.push_back(
        std::make_unique<NcclRegistration>(session, weights_.get(), layout.size() * sizeof(float)));
    std::vector<const float*> partials;
    for (std::size_t i = 0; i < subtrees_.size(); ++i) {
      partials_.push_back(allocate_nccl_memory(layout.size() * sizeof(float)));
      registrations_.push_back(std::make_unique<NcclRegistration>(session, partials_.back().get(),
                                                                  layout.size() * sizeof(float)));
      gradients_.emplace_back(layout.size());
      partials.push_back(static_cast<const float*>(partials_.back().get()));
    }
    reducer_.emplace(session, NcclReducerSetup{.network = "a test's network",
                                               .layout = &layout_,
                                               .plan = &plan_,
                                               .ranges = toy_ranges(setup.job.num_microbatches,
                                                                    session.num_workers()),
                                               .hosts = setup.hosts,
                                               .num_microbatches = setup.job.num_microbatches,
                                               .order = setup.order,
                                               .wire = setup.wire,
                                               .clip_norm = setup.job.clip_norm,
                                               .weights = static_cast<float*>(weights_.get()),
                                               .moments = {first_.data(), second_.data()},
                                               .average = average_.data(),
                                               .partials = partials});
  }

  [[nodiscard]] NcclReducer& reducer() { return *reducer_; }
  [[nodiscard]] const BucketPlan& plan() const { return plan_; }

  /// Writes the gradients of `update` to the memory that `enqueue_gradients` copies. @pre no copy
  /// is way
  void compute_gradients(int update) {
    for (std::size_t i = 0; i < subtrees_.size(); ++i) {
      const std::vector<float> partial = partial_gradient(layout_, update, subtrees_[i]);
      std::ranges::copy(partial, gradients_[i].values().begin());
    }
  }

  /// Puts a framework's part of a step on its stream: gradients arrive bucket by bucket.
  void enqueue_gradients(cudaStream_t compute, BucketEvents events) {
    reducer_->open();
    for (std::size_t position = 0; position < plan_.num_buckets(); ++position) {
      const std::size_t bucket =
          events == BucketEvents::kReversed ? plan_.num_buckets() - 1 - position : position;
      copy_gradients(plan_.bucket(bucket), compute);
      if (events != BucketEvents::kAtTheEnd) {
        reducer_->bucket_ready(bucket, compute);
      }
    }
    all_ready(compute);
  }

  /// Marks all remaining buckets as ready.
  void all_ready(cudaStream_t compute) {
    for (std::size_t bucket = 0; bucket < plan_.num_buckets(); ++bucket) {
      reducer_->bucket_ready(bucket, compute);
    }
  }
  /// Makes later work on `stream` see the new weights.
  void await(cudaStream_t stream) { reducer_->await_bucket(plan_.num_buckets() - 1, stream); }

  /// Runs one whole update, launched by this thread.
  void step(int update, cudaStream_t compute, BucketEvents events) {
    check(cudaStreamSynchronize(compute), "a test's step");
    compute_gradients(update);
    reducer_->prepare(constants_of(update), compute);
    enqueue_gradients(compute, events);
    (void)reducer_->advance();
    await(compute);
  }

  /// Returns the whole weights; waits for `compute`.
  [[nodiscard]] std::vector<float> weights(cudaStream_t compute) const {
    std::vector<float> values(layout_.size());
    check(cudaStreamSynchronize(compute), "a test's step");
    check(cudaMemcpy(values.data(), weights_.get(), values.size() * sizeof(float),
                     cudaMemcpyDeviceToHost),
          "a test's weights");
    return values;
  }
  [[nodiscard]] std::vector<float> first_moment() const { return first_.on_host(); }
  [[nodiscard]] std::vector<float> average() const { return average_.on_host(); }

 private:
  void copy_gradients(ElementRange range, cudaStream_t compute) {
    for (std::size_t i = 0; i < partials_.size(); ++i) {
      check(cudaMemcpyAsync(static_cast<float*>(partials_[i].get()) + range.begin,
                            gradients_[i].values().data() + range.begin,
                            range.size() * sizeof(float), cudaMemcpyHostToDevice, compute),
            "a test's gradients");
    }
  }

  const ArenaLayout& layout_;
  Setup setup_;
  BucketPlan plan_;
  std::vector<MicrobatchRange> subtrees_;
  DeviceArray<float> first_, second_;
  NcclMemory weights_;
  DeviceArray<float> average_;
  std::vector<NcclMemory> partials_;
  std::vector<PinnedFloats> gradients_;
  std::vector<std::unique_ptr<NcclRegistration>> registrations_;
  std::optional<NcclReducer> reducer_;
};

}  // namespace gangway::comm
