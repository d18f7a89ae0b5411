// SPDX-License-Identifier: MIT
// The way of real batches into a device's memory, ahead of their use: worker/cuda/cuda_staging.hpp.
// Workers on CPUs have none. Compute thread, but for allocate().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "gan/data/loader.hpp"
#include "gan/named_tensors.hpp"
#include "gan/torch.hpp"
#include "job/spec.hpp"

namespace gangway::worker {

struct RealBatch {
  at::Tensor images;  ///< [N, C, H, W] or [N, 2], float32
  at::Tensor labels;  ///< [N], int64
  /// Instead of both, where the data are no pictures: in the host's memory.
  gan::NamedTensors named = {};
};

struct StagingSetup {
  std::vector<std::int64_t> shape;  ///< of a batch's images
  MemoryFormat format = MemoryFormat::kContiguous;
  std::size_t num_places = 1;  ///< batches that are looked at at once
  std::size_t num_read = 1;    ///< batches that the loader has at once at the most
  std::size_t examples = 0;    ///< places of KeptExamples, if they are to be kept; 0: they are not
};

class BatchStaging {
 public:
  virtual ~BatchStaging() = default;
  /// Memory that the device copies from by itself. Any thread. Outlives this. Asks CUDA for nothing
  /// once this is made: what page-locks memory may wait for all that is on the device.
  [[nodiscard]] virtual std::shared_ptr<std::byte> allocate(std::size_t bytes) = 0;
  /// Whether another batch may be staged without waiting.
  [[nodiscard]] virtual bool has_room() = 0;
  /// Begins to copy a packed batch, behind those before. Waits where there is no room.
  virtual void stage(data::Batch&& batch) = 0;
  [[nodiscard]] virtual std::size_t num_staged() const = 0;
  /// Of the oldest. @pre one is staged
  [[nodiscard]] virtual const data::BatchRequest& next_request() const = 0;
  /// The oldest comes to lie at `place`, for all that is computed from now on: the same memory
  /// whatever the batch. @pre one is staged
  virtual const RealBatch& put(std::size_t place) = 0;
  /// What the device keeps for good, and need not be brought again; null: nothing.
  [[nodiscard]] virtual const data::KeptExamples* kept() const { return nullptr; }
  /// Memory of a batch that the device has copied, for the loader.
  [[nodiscard]] virtual std::optional<data::Batch> take_copied() = 0;
};

}  // namespace gangway::worker
