// SPDX-License-Identifier: MIT
// The real images of the worker's micro-batches, read ahead. A discriminator repeat takes the next
// ones; later phases of the step look at the same. Compute thread; the loader's threads are inside.
#pragma once

#include <memory>
#include <vector>

#include "comm/arena/reduction_tree.hpp"
#include "gan/data/loader.hpp"
#include "gan/torch.hpp"
#include "job/spec.hpp"
#include "worker/trace/step_trace.hpp"

namespace gangway::worker {

struct RealBatch {
  at::Tensor images;  ///< [N, C, H, W] or [N, 2], float32
  at::Tensor labels;  ///< [N], int64
};

class RealBatches {
 public:
  /// @param trace   of the compute thread; null: none
  /// @param device  where the images are wanted
  RealBatches(const JobSpec& job, const data::Dataset& dataset, MicrobatchRange local,
              std::int64_t first_step, ComputeTrace* trace = nullptr, at::Device device = at::kCPU);
  /// @param microbatches  of this worker, in the order in which a repeat asks for them
  RealBatches(const JobSpec& job, const data::Dataset& dataset, std::vector<int> microbatches,
              std::int64_t first_step, ComputeTrace* trace = nullptr, at::Device device = at::kCPU);

  /// The images of `microbatch`; of (step, repeat) when asked with them, else the ones given last
  /// for it.
  const RealBatch& take(std::int64_t step, int repeat, int microbatch);
  [[nodiscard]] const RealBatch& latest(int microbatch) const;
  /// Of a batch of images or points, the batch's own included.
  [[nodiscard]] std::size_t num_dimensions() const { return shape_.size(); }
  /// Seconds spent waiting for the loader since the last call.
  [[nodiscard]] double take_wait_seconds();

 private:
  struct Held {
    RealBatch batch;
    data::Batch memory;  // what `batch` looks at
    bool filled = false;
  };

  [[nodiscard]] std::size_t place_of(int microbatch) const;

  const JobSpec& job_;
  std::vector<int> microbatches_;
  std::vector<std::int64_t> shape_;
  std::vector<Held> held_;
  double wait_seconds_ = 0.0;
  ComputeTrace* trace_;
  at::Device device_;
  std::unique_ptr<data::Loader> loader_;
};

}  // namespace gangway::worker
