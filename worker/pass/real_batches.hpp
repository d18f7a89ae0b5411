// SPDX-License-Identifier: MIT
// Provides real images of the worker's micro-batches, read ahead. Discriminator repeats take new
// batches; later phases reuse them. Compute thread; holds the loader's threads.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/arena/reduction_tree.hpp"
#include "data/loader.hpp"
#include "gan/torch.hpp"
#include "job/spec.hpp"
#include "worker/pass/batch_staging.hpp"
#include "worker/trace/step_trace.hpp"

namespace gangway::worker {

class RealBatches {
 public:
  /// Makes the staging to the device; null if images are wanted in host memory.
  using StagingMaker = std::function<std::unique_ptr<BatchStaging>(const StagingSetup&)>;
  /// @param trace  of the compute thread; null: none
  RealBatches(const Job& job, const data::Dataset& dataset, MicrobatchRange local,
              std::int64_t first_step, ComputeTrace* trace = nullptr,
              const StagingMaker& make_staging = {});
  /// @param microbatches  of this worker, in the order in which a repeat asks for them
  RealBatches(const Job& job, const data::Dataset& dataset, std::span<const int> microbatches,
              std::int64_t first_step, ComputeTrace* trace = nullptr,
              const StagingMaker& make_staging = {});

  /// take() returns the images of `microbatch` for (step, repeat); latest() those taken last.
  const RealBatch& take(std::int64_t step, int repeat, int microbatch);
  [[nodiscard]] const RealBatch& latest(int microbatch) const;
  /// Places all batches of the step where take() finds them, any number of times and in any order.
  void prepare(std::int64_t step);
  /// Returns the loader's figures since the last call, by messages::kLoaderFigureNames.
  [[nodiscard]] std::vector<double> take_loader_figures();
  /// Returns the data set of the images.
  [[nodiscard]] const data::Dataset& dataset() const { return dataset_; }
  /// Returns the number of axes of a batch of images or points, including the batch axis.
  [[nodiscard]] std::size_t num_dimensions() const { return shape_.size(); }

 private:
  struct HeldBatch {
    RealBatch batch;
    data::Batch memory;  // memory under `batch`, on a CPU
    data::BatchRequest request;
    bool filled = false;
  };
  [[nodiscard]] data::Batch next_read(std::int64_t step);
  void show(HeldBatch& held, const data::BatchRequest& due);
  /// Fill `held` with the next batch, in host memory or on the device.
  void show_read(HeldBatch& held, std::int64_t step);
  void show_staged(HeldBatch& held, std::int64_t step);
  /// Begins to copy batches that are already read.
  void stage_ahead();
  [[nodiscard]] std::size_t index_of(int microbatch) const;
  [[nodiscard]] std::size_t place_of(const data::BatchRequest& request) const;

  const Job& job_;
  const data::Dataset& dataset_;
  std::vector<int> microbatches_;
  std::vector<std::int64_t> shape_;
  std::vector<HeldBatch> held_;      // by micro-batch
  std::vector<HeldBatch> prepared_;  // by place_of; empty until a step is prepared
  std::optional<std::int64_t> prepared_step_;
  std::vector<const RealBatch*> latest_;  // by micro-batch
  std::vector<double> last_figures_;
  ComputeTrace* trace_;
  std::unique_ptr<BatchStaging> staging_;  // null: images stay in host memory
  std::unique_ptr<data::Loader> loader_;
};

}  // namespace gangway::worker
